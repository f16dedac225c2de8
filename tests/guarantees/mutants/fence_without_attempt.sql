-- guard: the fence shows the attempt number
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.hold_fence', $guard$ and v_job.attempt = p_attempt$guard$, '');
