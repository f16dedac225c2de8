-- guard: what passes before a schedule fires by something else is not counted as left out
-- dies: tests/guarantees/test_audit_schedules.py::test_what_passed_before_a_schedule_was_changed_or_resumed_is_nobodys_business
select pg_temp.without('holdfast.put_schedule', 'case when same.timing then old.counted_from else greatest(old.settled_to, v_now) end', 'old.counted_from');
