-- guard: a claim links since when the job was ready
-- dies: tests/sql/test_chain.py::test_what_workers_do_is_chained_as_it_is_told
select pg_temp.without('holdfast.claim', $guard$holdfast.linked(j.chain, holdfast.ready_since(j.claim_order, j.priority), v_said)$guard$, $guard$holdfast.linked(j.chain, null, v_said)$guard$);
