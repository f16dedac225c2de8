-- guard: who fires a schedule leaves alone one that somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[fire_schedule]
select pg_temp.without('holdfast.fire_schedule', $guard$skip locked$guard$);
