-- guard: a call that enqueues many links who called it
-- dies: tests/sql/test_chain.py::test_many_births_of_one_call_are_chained_each_with_what_it_tells
select pg_temp.without('holdfast.try_to_enqueue', $guard$pg_current_xact_id()::text::bigint, holdfast.actor(), null, null)$guard$, $guard$pg_current_xact_id()::text::bigint, 'holdfast', null, null)$guard$);
