-- guard: an attempt that lost its job reports no progress
-- dies: tests/sql/test_fences.py::test_an_attempt_that_lost_its_job_writes_nothing
select pg_temp.without('holdfast.report_progress', $guard$perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);$guard$, '');
