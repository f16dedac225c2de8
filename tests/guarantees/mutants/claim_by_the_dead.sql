-- guard: a dead worker cannot claim
-- dies: tests/guarantees/test_fence.py::test_a_worker_that_was_declared_dead_cannot_claim
select pg_temp.without('holdfast.act_as_worker', $guard$ and w.died_at is null$guard$, $guard$$guard$);
