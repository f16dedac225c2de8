-- guard: a move links to the head before it
-- dies: tests/sql/test_chain.py::test_a_history_ends_in_the_head_on_its_jobs_row
select pg_temp.without('holdfast.guard_move', $guard$coalesce(old.chain, holdfast.head_of(old.id))$guard$, $guard$uuid_send(old.id)$guard$);
