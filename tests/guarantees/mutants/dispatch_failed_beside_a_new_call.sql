-- guard: a call that failed is not planned anew while another worker takes it
-- dies: tests/sql/test_dispatch.py::test_a_call_that_another_worker_takes_meanwhile_is_superseded
select pg_temp.without('holdfast.dispatch_failed', $guard$from holdfast.dispatch d where d.id = p_id for no key update;$guard$, $guard$from holdfast.dispatch d where d.id = p_id;$guard$);
