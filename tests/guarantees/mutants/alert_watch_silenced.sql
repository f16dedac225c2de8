-- guard: a clock that was set back does not silence the watch
-- dies: tests/sql/test_alerts.py::test_a_clock_that_was_set_back_does_not_silence_the_watch
-- pace: quick
select pg_temp.without('holdfast.evaluate_alerts', $guard$or w.ran_at > v_now$guard$);
