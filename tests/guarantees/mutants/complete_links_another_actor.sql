-- guard: a completion links the worker that made it
-- dies: tests/sql/test_chain.py::test_what_workers_do_is_chained_as_it_is_told
select pg_temp.without('holdfast.complete', $guard$v_actor := holdfast.actor();$guard$, $guard$v_actor := 'holdfast';$guard$);
