-- guard: an attempt that lost its job does not put it to sleep
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.sleep_until', $guard$holdfast.hold_fence(p_job, p_attempt, p_claim_id)$guard$, $guard$(select j from holdfast.job j where j.id = p_job)$guard$);
