-- guard: a bound caller replays its own deliveries
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_replays_its_own_deliveries_and_reports_for_its_own_runs
select pg_temp.without('holdfast.begin_replay', $guard$ and holdfast.may_touch(d.tenant)$guard$, '');
