-- guard: a claim links the worker that made it
-- dies: tests/sql/test_chain.py::test_what_workers_do_is_chained_as_it_is_told
select pg_temp.without('holdfast.claim', $guard$pg_current_xact_id()::text::bigint, holdfast.actor(), null, null)$guard$, $guard$pg_current_xact_id()::text::bigint, 'holdfast', null, null)$guard$);
