-- guard: a call that replaces several jobs locks all of them before it touches one
-- dies: tests/sql/test_change_races.py::test_a_call_that_replaces_several_and_an_operation_that_cancels_them_do_not_deadlock[replaced too]
select pg_temp.without('holdfast.lock_replaced', $guard$lock_jobs(v_held, null,$guard$, $guard$lock_jobs('{}', null,$guard$);
