-- guard: many schedules are withdrawn with one look at all workers
-- dies: tests/sql/test_schedules.py::test_many_schedules_are_withdrawn_as_easily_as_few
select pg_temp.without('holdfast.due_schedules', $guard$s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone));$guard$,
  $guard$(select u.is_gone from holdfast.undeclared_schedules(coalesce(s.paused_at, v_now)) as u where u.name = s.name limit 1);$guard$);
