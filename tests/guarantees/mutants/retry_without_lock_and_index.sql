-- guard: a job is retried once
-- dies: tests/guarantees/test_keys.py::test_a_failed_job_is_retried_by_hand_once
select pg_temp.without('holdfast.lock_job', $guard$for no key update$guard$, $guard$$guard$);
drop index holdfast.job_retried_once;
