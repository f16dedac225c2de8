-- guard: a call does not fail whose run has reported
-- dies: tests/sql/test_dispatch.py::test_a_call_that_failed_though_its_run_has_reported_is_superseded
select pg_temp.without('holdfast.dispatch_failed', $guard$ and v_run.state = 'calling'$guard$);
