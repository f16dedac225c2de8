-- guard: a heartbeat tells what was lost
-- dies: tests/guarantees/test_fence.py::test_a_heartbeat_tells_a_worker_that_it_is_dead_and_what_it_lost
select pg_temp.without('holdfast.beat', $guard$j.claim_id = mine.claim_id and j.status = 'RUNNING'$guard$, 'true');
