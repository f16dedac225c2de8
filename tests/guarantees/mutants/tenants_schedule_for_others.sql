-- guard: a bound caller makes schedules for its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_has_schedules_of_its_own
select pg_temp.without('holdfast.create_schedule', $guard$holdfast.require_own($guard$, $guard$concat($guard$);
