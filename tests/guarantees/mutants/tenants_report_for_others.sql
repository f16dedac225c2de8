-- guard: a bound caller reports for its own runs
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_replays_its_own_deliveries_and_reports_for_its_own_runs
select pg_temp.without('holdfast.callback', $guard$ or not holdfast.may_touch(v_job.tenant)$guard$, '');
