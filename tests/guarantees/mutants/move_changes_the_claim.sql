-- guard: a job keeps its fence when it ends
-- dies: tests/sql/test_rules.py::test_a_move_that_is_almost_well_written_is_put_right
select pg_temp.without('holdfast.guard_move', $guard$new.claim_id := old.claim_id;$guard$, $guard$null;$guard$);
