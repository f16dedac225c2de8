-- guard: only the database's clock says when a job moved
-- dies: tests/sql/test_rules.py::test_a_move_that_is_almost_well_written_is_put_right
select pg_temp.without('holdfast.guard_move', $guard$new.updated_at := greatest(holdfast.clock(), old.updated_at);$guard$, $guard$null;$guard$);
