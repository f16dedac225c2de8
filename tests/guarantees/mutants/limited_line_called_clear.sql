-- guard: a line is called clear only when nothing without a slot was found in it
-- dies: tests/sql/test_slots.py::test_a_line_without_slots_is_claimed_by_its_places_again_once_it_is_cleared
select pg_temp.without('holdfast.clear_line', 'v_queue <> all (v_found)', 'true');
