-- guard: apps register their alerts one at a time
-- dies: tests/sql/test_alerts.py::test_of_two_apps_that_take_a_name_at_once_the_second_is_told
select pg_temp.without('holdfast.register_alerts', $guard$perform from holdfast.alert_watch w for update;$guard$);
