-- guard: a bound caller begins operations for its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers
select pg_temp.without('holdfast.begin_operation', $guard$perform holdfast.require_own(p_tenant, 'an operation');$guard$);
