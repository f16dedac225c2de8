-- guard: an attempt that lost its job does not let it wait for jobs
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.wait_for_jobs', $guard$holdfast.hold_fence(p_job, p_attempt, p_claim_id)$guard$, $guard$(select j from holdfast.job j where j.id = p_job)$guard$);
