-- guard: a call that replaces jobs comes first for those that hold its keys and run
-- dies: tests/sql/test_waiting.py::test_the_end_of_a_child_and_a_call_that_would_replace_it_and_is_to_run_after_its_parent_do_not_deadlock
select pg_temp.without('holdfast.lock_replaced', $guard$unnest(v_started) as s$guard$, $guard$unnest('{}'::uuid[]) as s$guard$);
