-- guard: illegal moves are refused
-- dies: tests/guarantees/test_history.py::test_a_terminal_job_never_moves_again[origin]
-- pace: core
drop trigger guard_move on holdfast.job;
