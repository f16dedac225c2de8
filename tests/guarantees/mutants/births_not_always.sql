-- guard: a replica writes births down too
-- dies: tests/sql/test_rules.py::test_a_job_is_born_pending_and_unclaimed
alter table holdfast.job enable trigger record_births;
