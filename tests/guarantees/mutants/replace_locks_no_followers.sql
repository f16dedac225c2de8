-- guard: a call that replaces a job locks who waits for it before it touches it
-- dies: tests/sql/test_waiting.py::test_a_cancel_of_a_child_and_one_of_its_waiting_parent_do_not_deadlock[replace]
select pg_temp.without('holdfast.lock_replaced', $guard$select m from holdfast.moved_with(v_held) as m$guard$, $guard$select m from unnest(v_held) as m$guard$);
