-- guard: a failed run is retried within the job's retries
-- dies: tests/sql/test_callback.py::test_a_run_that_fails_fails_its_job_with_step_and_run_in_error_and_history[newest]
select pg_temp.without('holdfast.fail_run', $guard$ and p_job.retry_count < p_job.max_retries$guard$);
select pg_temp.without('holdfast.fail_run', $guard$j.retry_count + v_again::int$guard$, $guard$j.retry_count$guard$);
