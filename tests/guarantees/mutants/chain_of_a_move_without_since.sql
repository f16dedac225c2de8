-- guard: a move links since when it had been so
-- dies: tests/sql/test_chain.py::test_a_history_ends_in_the_head_on_its_jobs_row
select pg_temp.without('holdfast.guard_move', $guard$holdfast.since_when(old.status, new.status, new.ready_at, new.started_at)$guard$, $guard$null$guard$);
