-- guard: what passes while a schedule is paused is not counted as left out
-- dies: tests/guarantees/test_audit_schedules.py::test_what_passed_before_a_schedule_was_changed_or_resumed_is_nobodys_business
select pg_temp.without('holdfast.resume_schedule', 'counted_from = greatest(s.settled_to, v_now), ', '');
