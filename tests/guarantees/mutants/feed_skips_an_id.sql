-- guard: the ids of a channel go on from pass to pass without a gap
-- dies: tests/sql/test_project.py::test_readers_see_no_gap_and_no_repeat_while_eight_writers_commit
select pg_temp.without('holdfast.project_slice', $guard$last_id = c.last_id + excluded.last_id - v_floor$guard$, $instead$last_id = c.last_id + excluded.last_id - v_floor + 1$instead$);
