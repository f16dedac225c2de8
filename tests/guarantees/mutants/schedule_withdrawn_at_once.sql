-- guard: a restart of the workers that declare a schedule withdraws nothing
-- dies: tests/sql/test_schedules.py::test_a_schedule_waits_for_the_workers_that_declare_it_while_they_restart
select pg_temp.without('holdfast.undeclared_schedules', $guard$coalesce(w.died_at, p_now) >= p_now - interval '10 minutes' and $guard$, $guard$false and $guard$);
