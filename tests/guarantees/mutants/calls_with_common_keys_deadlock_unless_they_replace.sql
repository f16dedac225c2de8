-- guard: whatever becomes of the keys that two calls share, one of them lets go and comes again
-- dies: tests/sql/test_keys.py::test_batches_with_common_keys_of_which_one_becomes_free_meanwhile_do_not_deadlock
select pg_temp.without('holdfast.enqueue_many', $guard$if v_try = v_most then$guard$, $instead$if v_try = v_most or not v_jobs @? '$[*] ? (@.on_conflict == "replace")' then$instead$);
