-- guard: who clears a line does not wait for who limits its queue
-- dies: tests/sql/test_slots.py::test_who_clears_a_line_does_not_wait_for_who_limits_its_queue
select pg_temp.without('holdfast.note_cleared', $guard$ skip locked$guard$);
