-- guard: an end does not move who has been woken by its time
-- dies: tests/sql/test_waiting.py::test_an_end_does_not_move_who_waits_for_a_slot_since_its_time_has_come
select pg_temp.without('holdfast.tell_followers', 'and (f.until is null or f.until > v_now)');
