-- guard: a bound caller keeps answers of its own tenant
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers
select pg_temp.without('holdfast.require_own', $guard$not holdfast.may_touch(p_tenant)$guard$, $guard$false$guard$);
