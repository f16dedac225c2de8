-- guard: a move gives a job from before there were chains the chain of its whole history
-- dies: tests/sql/test_chain.py::test_a_job_from_before_gets_the_chain_of_its_whole_history_with_its_next_move[moved_by_hand]
select pg_temp.without('holdfast.guard_move', $guard$coalesce(old.chain, holdfast.head_of(old.id))$guard$, $guard$coalesce(old.chain, uuid_send(old.id))$guard$);
