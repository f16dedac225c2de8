-- guard: what passes in a pause never runs
-- dies: tests/runtime/test_schedules.py::test_a_pause_survives_deployments_and_what_passes_in_it_never_runs
-- pace: slow
select pg_temp.without('holdfast.resume_schedule', $guard$, settled_to = greatest(s.settled_to, v_now)$guard$);
