-- guard: only the database's clock lets a schedule fire
-- dies: tests/sql/test_schedules.py::test_a_clock_that_is_ahead_fires_nothing
-- pace: slow
select pg_temp.without('holdfast.fire_schedule', $guard$ or a > v_now$guard$, $guard$$guard$);
