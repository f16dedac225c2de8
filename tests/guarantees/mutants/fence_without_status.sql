-- guard: the fence needs a job that runs
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.hold_fence', $guard$v_job.status = 'RUNNING' and $guard$, '');
