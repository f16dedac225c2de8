-- guard: a claim skips what others are taking
-- dies: tests/guarantees/test_claim.py::test_a_claim_does_not_wait_for_jobs_that_others_are_taking
select pg_temp.without('holdfast.claim', $guard$skip locked$guard$, $guard$$guard$);
