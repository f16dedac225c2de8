-- guard: of several who find a time of a schedule due one fires it
-- dies: tests/sql/test_schedules.py::test_three_schedulers_at_once_give_every_time_exactly_one_job
alter table holdfast.schedule_run drop constraint schedule_run_pkey;
select pg_temp.without('holdfast.fire_schedule', $guard$ and s.settled_to = p_settled_to$guard$, $instead$$instead$);
select pg_temp.without('holdfast.fire_schedule', $guard$ skip locked$guard$, $instead$$instead$);
select pg_temp.without('holdfast.fire_slot', $guard$r.slot = p_slot$guard$, $instead$false$instead$);
