-- guard: only the newest try of a call says that it failed
-- dies: tests/sql/test_dispatch.py::test_only_the_newest_try_of_a_call_can_say_that_it_failed
select pg_temp.without('holdfast.dispatch_failed', $guard$ and v_run.tries = p_try$guard$);
