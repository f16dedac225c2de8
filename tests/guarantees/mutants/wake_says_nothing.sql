-- guard: a commit wakes an idle worker
-- dies: tests/guarantees/test_waking.py::test_an_idle_worker_is_woken_by_the_commit
-- pace: slow
select pg_temp.without('holdfast.wake', $guard$perform pg_notify('holdfast_wake', v_queue)$guard$, $guard$perform 1$guard$);
