-- guard: what is behind a slice is left to the next pass
-- dies: tests/guarantees/test_projector.py::test_what_is_projected_is_the_history_wherever_projectors_are_killed
-- pace: slow
select pg_temp.without('holdfast.project', $guard$holdfast.as_snapshot(v_cut, v_running)$guard$, $instead$holdfast.as_snapshot(v_to, v_running)$instead$);
