-- guard: only the run itself says that it has stopped
-- dies: tests/sql/test_callback.py::test_a_compensation_waits_until_the_cancelled_run_has_reported_its_end[failed-8-False]
select pg_temp.without('holdfast.callback', $guard$v_answer <> 'other_run' and $guard$);
