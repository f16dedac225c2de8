-- guard: an attempt is counted by its claim
-- dies: tests/sql/test_rules.py::test_a_move_that_is_almost_well_written_is_put_right
select pg_temp.without('holdfast.guard_move', $guard$new.attempt := old.attempt + 1;$guard$, $guard$null;$guard$);
