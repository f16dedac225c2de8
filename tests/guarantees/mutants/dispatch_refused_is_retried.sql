-- guard: a job whose call was refused for good is not retried
-- dies: tests/sql/test_dispatch.py::test_a_refused_call_fails_the_job_at_once_whatever_retries_it_has
select pg_temp.without('holdfast.dispatch_failed', $guard$'recoverable', not p_permanent$guard$, $guard$'recoverable', true$guard$);
