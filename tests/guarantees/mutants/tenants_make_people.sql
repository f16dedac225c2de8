-- guard: a bound caller lets no people in
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_changes_nothing_that_is_everybodys_or_anothers
select pg_temp.without('holdfast.create_person', $guard$holdfast.require_unbound($guard$, $guard$concat($guard$);
