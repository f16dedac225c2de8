-- guard: a claim from a queue that was limited a moment ago begins with its slots, and not with its line
-- dies: tests/sql/test_slots.py::test_a_claim_walks_no_line_that_was_there_before_its_queues_limit
select pg_temp.without('holdfast.claim', 'v_needs_slots and not (select q.cleared from holdfast.queue q where q.name = p_queue)', 'false');
