-- guard: a job is retried once
-- dies: tests/guarantees/test_keys.py::test_a_retry_waits_for_another_that_has_not_committed_and_is_refused
select pg_temp.without('holdfast.lock_job', $guard$for no key update$guard$, $guard$$guard$);
drop index holdfast.job_retried_once;
