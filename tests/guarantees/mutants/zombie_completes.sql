-- guard: what a thawed worker has done for another attempt does not complete the job
-- dies: tests/guarantees/test_zombie.py::test_a_thawed_zombie_cannot_touch_the_attempt_that_runs_now
-- pace: slow
select pg_temp.without('holdfast.complete', $guard$ and j.attempt = o.attempt and j.claim_id = o.claim_id
     -- An attempt$guard$, $instead$
     -- An attempt$instead$);
select pg_temp.without('holdfast.complete', $guard$and j.holder is not distinct from p_worker$guard$, $instead$$instead$);
