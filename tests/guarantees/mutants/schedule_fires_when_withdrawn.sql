-- guard: a withdrawn schedule fires nothing
-- dies: tests/sql/test_schedules.py::test_a_withdrawn_schedule_fires_nothing_even_for_who_read_it_before
select pg_temp.without('holdfast.fire_schedule', $guard$ and s.withdrawn_at is null$guard$, $guard$$guard$);
