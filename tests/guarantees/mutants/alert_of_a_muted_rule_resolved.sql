-- guard: a muted rule says nothing
-- dies: tests/sql/test_alerts.py::test_an_alert_of_a_rule_that_is_muted_closes_without_a_word
-- pace: quick
select pg_temp.without('holdfast.tell_of_alert', $guard$and r.enabled$guard$);
