-- guard: a failure that is not recoverable fails the job
-- dies: tests/sql/test_callback.py::test_a_failure_that_is_not_recoverable_fails_the_job_whatever_retries_are_left
select pg_temp.without('holdfast.fail_run', $guard$coalesce((p_error ->> 'recoverable')::boolean, true) and $guard$);
