-- guard: who withdraws a schedule looks again with the schedule in hand
-- dies: tests/sql/test_schedules.py::test_a_schedule_that_was_declared_a_moment_ago_is_not_withdrawn
select pg_temp.without('holdfast.due_schedules', $guard$
       and s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone))$guard$);
