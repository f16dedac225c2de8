-- guard: only the attempt that asked is told so again
-- dies: tests/sql/test_approvals.py::test_only_the_attempt_that_asked_is_told_so_again[an earlier attempt]
select pg_temp.without('holdfast.ask', $guard$ and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id$guard$);
