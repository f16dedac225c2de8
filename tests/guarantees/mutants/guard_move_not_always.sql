-- guard: guard_move also holds for a replica
-- dies: tests/guarantees/test_history.py::test_a_terminal_job_never_moves_again[replica]
alter table holdfast.job enable trigger guard_move;
