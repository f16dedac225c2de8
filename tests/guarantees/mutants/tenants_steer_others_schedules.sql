-- guard: a bound caller steers its own schedules only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_has_schedules_of_its_own
select pg_temp.without('holdfast.find_schedule', $guard$  select * into v_schedule from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant') for no key update;$guard$, $guard$  select * into v_schedule from holdfast.schedule s where s.name = p_name and true for no key update;$guard$);
