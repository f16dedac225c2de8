-- guard: a terminal job never changes
-- dies: tests/guarantees/test_history.py::test_a_terminal_job_never_changes_again[origin]
drop trigger guard_stay on holdfast.job;
