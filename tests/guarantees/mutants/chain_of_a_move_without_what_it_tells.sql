-- guard: a move links what it tells in its metadata
-- dies: tests/sql/test_chain.py::test_a_history_ends_in_the_head_on_its_jobs_row
select pg_temp.without('holdfast.guard_move', $guard$holdfast.told_of_move(new.id, old.status, new.status, new.approval_id, new.error, new.retry_count, new.crash_count, new.due_at)$guard$, $guard$null$guard$);
