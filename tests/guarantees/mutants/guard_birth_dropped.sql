-- guard: a job is born PENDING
-- dies: tests/guarantees/test_history.py::test_a_job_is_born_pending[origin]
drop trigger guard_birth on holdfast.job;
