-- guard: a killed worker's jobs run again
-- dies: tests/sql/test_sweep.py::test_a_silent_workers_job_is_retried_uncounted_and_suspected
select pg_temp.without('holdfast.sweep', $guard$returned := holdfast.return_jobs(null, p_limit);$guard$, $guard$returned := 0;$guard$);
