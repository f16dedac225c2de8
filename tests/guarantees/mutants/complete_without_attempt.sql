-- guard: complete shows the attempt number
-- dies: tests/guarantees/test_fence.py::test_the_attempt_number_fences_though_the_claim_id_is_equal
select pg_temp.without('holdfast.complete', $guard$ and j.attempt = o.attempt$guard$, $guard$$guard$);
