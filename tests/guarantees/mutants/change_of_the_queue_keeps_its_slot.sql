-- guard: a slot of the queue that a job leaves goes to who waits for it
-- dies: tests/sql/test_changes.py::test_a_slot_of_the_old_queue_goes_to_who_waits_for_it
select pg_temp.without('holdfast.put_into_queue', 'perform holdfast.offer_slots(v_freed);', 'null;');
