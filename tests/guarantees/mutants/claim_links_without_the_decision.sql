-- guard: a claim leaves it to guard_move to link who approved
-- dies: tests/sql/test_chain.py::test_an_approvals_way_on_is_chained_with_who_decided
select pg_temp.without('holdfast.claim', $guard$case when j.status = 'WAITING_FOR_APPROVAL' then j.chain$guard$, $guard$case when false then j.chain$guard$);
