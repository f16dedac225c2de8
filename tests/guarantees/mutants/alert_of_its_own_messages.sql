-- guard: a channel that fails is not told of through itself
-- dies: tests/sql/test_alerts.py::test_failed_deliveries_alert_nobody
-- pace: quick
select pg_temp.without('holdfast.raise_alerts', $guard$and not holdfast.is_own_task(j.task)$guard$);
