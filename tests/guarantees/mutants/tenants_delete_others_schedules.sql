-- guard: a bound caller deletes its own schedules only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_has_schedules_of_its_own
select pg_temp.without('holdfast.delete_schedule', $guard$  delete from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant');$guard$, $guard$  delete from holdfast.schedule s where s.name = p_name and true;$guard$);
