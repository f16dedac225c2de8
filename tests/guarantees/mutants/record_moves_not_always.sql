-- guard: record_moves also holds for a replica
-- dies: tests/guarantees/test_history.py::test_a_move_is_recorded_whatever_role_the_session_plays[replica]
alter table holdfast.job enable trigger record_moves;
