-- guard: a claim of what has a slot skips what others are taking
-- dies: tests/guarantees/test_claim.py::test_a_claim_does_not_wait_for_jobs_that_others_are_taking[by_slots]
select pg_temp.without('holdfast.claim_by_slots', $guard$skip locked$guard$);
