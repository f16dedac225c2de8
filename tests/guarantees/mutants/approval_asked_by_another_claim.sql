-- guard: only the claim that asked is told so again
-- dies: tests/sql/test_approvals.py::test_only_the_attempt_that_asked_is_told_so_again[another claim]
select pg_temp.without('holdfast.ask', $guard$v_job.attempt = p_attempt and v_job.claim_id = p_claim_id$guard$, $guard$v_job.attempt = p_attempt$guard$);
