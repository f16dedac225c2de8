-- guard: jobs are not truncated
-- dies: tests/sql/test_history.py::test_jobs_are_kept
drop trigger guard_truncate on holdfast.job;
