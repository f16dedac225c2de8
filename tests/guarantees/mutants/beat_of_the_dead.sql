-- guard: a heartbeat tells a dead worker so
-- dies: tests/guarantees/test_fence.py::test_a_heartbeat_tells_a_worker_that_it_is_dead_and_what_it_lost
select pg_temp.without('holdfast.beat', $guard$ and w.died_at is null$guard$, $guard$$guard$);
