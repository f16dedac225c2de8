-- guard: a call that was refused for good is not made again
-- dies: tests/sql/test_dispatch.py::test_a_refused_call_fails_the_job_at_once_whatever_retries_it_has
select pg_temp.without('holdfast.dispatch_failed', $guard$p_permanent or $guard$);
