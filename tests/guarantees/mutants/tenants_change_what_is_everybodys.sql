-- guard: who is bound to a tenant changes nothing that is everybody's
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers
select pg_temp.without('holdfast.require_unbound', $guard$holdfast.bound_tenant() is not null$guard$, $guard$false$guard$);
