-- guard: a job runs again whose worker was killed, at whatever point
-- dies: tests/guarantees/test_crash.py::test_a_job_whose_worker_is_killed_before_its_outcome_is_recorded_runs_again
-- pace: slow
select pg_temp.without('holdfast.sweep', $guard$returned := holdfast.return_jobs(null, p_limit);$guard$, 'returned := 0;');
