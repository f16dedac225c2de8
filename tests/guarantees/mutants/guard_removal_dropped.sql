-- guard: jobs are kept
-- dies: tests/guarantees/test_history.py::test_history_and_jobs_are_append_only
drop trigger guard_removal on holdfast.job;
