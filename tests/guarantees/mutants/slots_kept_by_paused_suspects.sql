-- guard: a paused suspect leaves the line, as all others do
-- dies: tests/sql/test_switches.py::test_a_paused_suspect_gives_its_slot_of_a_limited_queue_to_others
select pg_temp.without('holdfast.clear_closed', 'j.claim_order is not null and j.suspect', 'false');
