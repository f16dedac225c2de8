-- guard: a flow that replaces another is tied together when all of it is there
-- dies: tests/sql/test_after.py::test_a_flow_that_replaces_another_runs_in_its_own_order[False-replace]
select pg_temp.without('holdfast.settle_conflict', $guard$p_wanted - 'after' ||$guard$, $guard$p_wanted ||$guard$);
