-- guard: the whole run has a limit, however often it beats
-- dies: tests/sql/test_callback.py::test_a_run_that_beats_for_ever_is_ended_by_the_limit_of_the_whole_run[newest]
select pg_temp.without('holdfast.run_fault', $guard$when l.late_at < l.now then$guard$, $guard$when false then$guard$);
