-- guard: settle shows a fence at all
-- dies: tests/guarantees/test_fence.py::test_a_stale_settlement_is_refused
-- pace: core
select pg_temp.without('holdfast.settle', $guard$ and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker$guard$, $guard$$guard$);
