-- guard: a run that never reported is given up
-- dies: tests/sql/test_callback.py::test_silence_since_the_dispatch_fails_a_run_that_never_reported[newest]
select pg_temp.without('holdfast.run_fault', $guard$when l.silent_at < l.now and l.silent_at <= l.late_at then$guard$, $guard$when false then$guard$);
