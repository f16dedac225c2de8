-- guard: only the attempt that completed a job is told that it did
-- dies: tests/sql/test_fences.py::test_only_who_completed_a_job_is_told_that_it_did
select pg_temp.without('holdfast.is_completed_by', $guard$ and j.attempt = p_attempt and j.claim_id = p_claim_id$guard$, '');
