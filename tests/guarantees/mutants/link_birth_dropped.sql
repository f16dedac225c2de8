-- guard: a job that is made by hand has a chain
-- dies: tests/sql/test_chain.py::test_a_job_that_is_born_by_hand_is_chained_too
drop trigger link_birth on holdfast.job;
