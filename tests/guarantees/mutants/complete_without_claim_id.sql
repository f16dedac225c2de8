-- guard: complete shows the claim id
-- dies: tests/guarantees/test_fence.py::test_the_claim_id_fences_a_completion_though_the_attempt_number_is_equal
select pg_temp.without('holdfast.complete', $guard$ and j.claim_id = o.claim_id$guard$, $guard$$guard$);
