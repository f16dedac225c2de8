-- guard: a move stands once in the history, whoever writes
-- dies: tests/sql/test_rules.py::test_a_move_stands_once_in_the_history_whoever_writes
alter table holdfast.job_history drop constraint job_history_pkey;
