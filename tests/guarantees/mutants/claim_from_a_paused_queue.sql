-- guard: a paused queue gives nothing
-- dies: tests/guarantees/test_claim.py::test_a_paused_queue_gives_nothing
create or replace function holdfast.queue_is_paused(p_queue text) returns boolean language sql stable return false;
