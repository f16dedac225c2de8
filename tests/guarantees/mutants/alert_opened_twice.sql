-- guard: whoever finds the same cause at the same time, one of them opens the alert
-- dies: tests/sql/test_alerts.py::test_eight_that_judge_at_once_open_one_alert_with_one_message_and_close_it_once
-- pace: quick
drop index holdfast.alert_is_open_once;
create index alert_is_open_once on holdfast.alert (rule, about) where closed_at is null;
select pg_temp.without('holdfast.judge_rules', $guard$on conflict (rule, about) where closed_at is null do update
           set message = excluded.message, count = excluded.count, severity = excluded.severity, last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at)$guard$);
