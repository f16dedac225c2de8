-- guard: two that count what runs in a queue at once give each a slot of its own
-- dies: tests/sql/test_slots.py::test_two_that_count_what_runs_in_a_queue_at_once_give_each_a_slot_of_its_own
select pg_temp.without('holdfast.count_running', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:limit:queue:' || p_queue, 0));$guard$);
