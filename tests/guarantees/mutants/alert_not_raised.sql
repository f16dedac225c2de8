-- guard: a failure's alert is written in the failure's transaction
-- dies: tests/sql/test_alerts.py::test_a_failed_job_alerts_in_its_own_transaction_and_further_ones_are_counted
-- pace: quick
select pg_temp.without('holdfast.follow_up', $guard$perform holdfast.raise_alerts(v_all);$guard$);
