-- guard: a run that may exist is cancelled with the call that failed
-- dies: tests/sql/test_dispatch.py::test_calls_that_fail_too_often_use_one_of_the_jobs_retries
select pg_temp.without('holdfast.dispatch_failed', $guard$'executor:' || v_run.executor, p_doubtful)$guard$, $guard$'executor:' || v_run.executor, false)$guard$);
