-- guard: a run by hand takes no time's place
-- dies: tests/sql/test_schedules.py::test_run_now_takes_no_whole_second_and_no_moment_twice
select pg_temp.without('holdfast.run_schedule', $guard$v_slot = date_trunc('second', v_slot) or $guard$, $guard$$guard$);
