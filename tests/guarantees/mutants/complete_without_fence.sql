-- guard: complete shows a fence at all
-- dies: tests/guarantees/test_fence.py::test_a_stale_completion_is_refused_while_another_attempt_runs
select pg_temp.without('holdfast.complete', $guard$ and j.attempt = o.attempt and j.claim_id = o.claim_id$guard$, $guard$$guard$);
select pg_temp.without('holdfast.complete', $guard$and j.holder is not distinct from p_worker$guard$, $guard$$guard$);
