-- guard: a bound caller makes keys for its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers
select pg_temp.without('holdfast.create_key', $guard$holdfast.require_own($guard$, $guard$concat($guard$);
