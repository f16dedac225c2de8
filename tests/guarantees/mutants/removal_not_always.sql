-- guard: a replica removes no job either
-- dies: tests/sql/test_history.py::test_jobs_are_kept
alter table holdfast.job enable trigger guard_removal;
