-- guard: a time of a schedule is decided once, for ever
-- dies: tests/sql/test_schedules.py::test_a_time_that_was_decided_stays_decided_when_the_schedules_row_is_set_back
-- pace: slow
select pg_temp.without('holdfast.fire_slot', $guard$r.slot = p_slot$guard$, $guard$false$guard$);
alter table holdfast.schedule_run drop constraint schedule_run_pkey;
