-- guard: a move links who made it
-- dies: tests/sql/test_chain.py::test_an_approvals_way_on_is_chained_with_who_decided
select pg_temp.without('holdfast.guard_move', $guard$pg_current_xact_id()::text::bigint, holdfast.actor(), new.reason$guard$, $guard$pg_current_xact_id()::text::bigint, 'holdfast', new.reason$guard$);
