-- guard: a call is tried so many times
-- dies: tests/sql/test_dispatch.py::test_calls_that_fail_too_often_use_one_of_the_jobs_retries
select pg_temp.without('holdfast.dispatch_failed', $guard$ or v_run.tries >= p_most_tries$guard$);
