-- guard: a run that is given up is cancelled
-- dies: tests/sql/test_callback.py::test_a_run_that_is_given_up_is_cancelled_and_retried_within_the_jobs_retries
select pg_temp.without('holdfast.check_run', $guard$'sweeper', true)$guard$, $guard$'sweeper', false)$guard$);
