-- guard: a compensation waits until the run has reported its end
-- dies: tests/sql/test_callback.py::test_a_compensation_waits_until_the_cancelled_run_has_reported_its_end[heartbeat-7-False]
select pg_temp.without('holdfast.callback', $guard$ and p_action in ('completed', 'failed')$guard$);
