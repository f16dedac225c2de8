-- guard: what is born in place of another waits for what it needs
-- dies: tests/sql/test_after.py::test_a_flow_that_replaces_another_runs_in_its_own_order[False-replace]
select pg_temp.without('holdfast.settle_conflict', $guard$and created and p_wanted @? '$.after[*]'$guard$, $guard$and false$guard$);
