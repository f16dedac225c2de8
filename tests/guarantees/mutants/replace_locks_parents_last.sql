-- guard: a call that replaces jobs locks what others of its jobs are to run after with them
-- dies: tests/sql/test_change_races.py::test_a_call_that_replaces_several_and_an_operation_that_cancels_them_do_not_deadlock[to run after]
select pg_temp.without('holdfast.lock_replaced', $guard$where (select holdfast.may_touch(j.tenant)$guard$, $guard$where not (select holdfast.may_touch(j.tenant)$guard$);
