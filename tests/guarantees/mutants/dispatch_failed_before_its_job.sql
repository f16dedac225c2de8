-- guard: who ends a run locks its job first
-- dies: tests/sql/test_dispatch.py::test_a_call_that_fails_and_a_cancel_at_once_do_not_deadlock
select pg_temp.without('holdfast.dispatch_failed', $guard$from holdfast.dispatch d where d.id = p_id) for no key update;$guard$, $guard$from holdfast.dispatch d where d.id = p_id);$guard$);
