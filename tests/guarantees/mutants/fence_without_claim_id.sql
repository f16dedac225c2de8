-- guard: the fence shows the claim id
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.hold_fence', $guard$ and v_job.claim_id = p_claim_id$guard$, '');
