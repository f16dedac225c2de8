-- guard: a schedule fires only for who read its present definition
-- dies: tests/sql/test_schedules.py::test_a_process_that_read_an_older_definition_fires_nothing
select pg_temp.without('holdfast.fire_schedule', $guard$ and s.version = p_version$guard$, $guard$$guard$);
