-- guard: an attempt that lost its job asks nobody
-- dies: tests/sql/test_approvals.py::test_only_the_attempt_that_owns_the_job_asks
select pg_temp.without('holdfast.ask', $guard$  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);$guard$);
