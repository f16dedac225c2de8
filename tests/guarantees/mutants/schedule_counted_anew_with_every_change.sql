-- guard: a change of what a schedule enqueues hides no time that was left out
-- dies: tests/guarantees/test_audit_schedules.py::test_another_payload_or_policy_hides_no_time
select pg_temp.without('holdfast.put_schedule', 'case when same.timing then old.counted_from else greatest(old.settled_to, v_now) end', 'greatest(old.settled_to, v_now)');
