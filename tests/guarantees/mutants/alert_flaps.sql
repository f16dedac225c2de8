-- guard: what comes and goes within a minute is one alert
-- dies: tests/sql/test_alerts.py::test_what_comes_and_goes_within_a_minute_is_one_alert
-- pace: quick
select pg_temp.without('holdfast.close_alerts', $guard$interval '1 minute'$guard$, $instead$interval '0'$instead$);
