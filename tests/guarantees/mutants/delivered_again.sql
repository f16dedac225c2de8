-- guard: what was delivered is not sent again
-- dies: tests/sql/test_alerts.py::test_an_attempt_that_lost_its_job_can_neither_begin_nor_end_a_delivery
-- pace: quick
alter table holdfast.notification drop constraint notification_is_delivered_at_a_time;
select pg_temp.without('holdfast.begin_delivery', $guard$or v_note.state in ('delivered', 'void')$guard$);
