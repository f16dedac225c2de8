-- guard: a paused schedule fires nothing
-- dies: tests/sql/test_schedules.py::test_a_paused_schedule_fires_nothing_even_for_who_read_it_before
select pg_temp.without('holdfast.fire_schedule', $guard$s.paused_at is null and $guard$, $guard$$guard$);
