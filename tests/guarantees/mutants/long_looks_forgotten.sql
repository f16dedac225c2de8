-- guard: what a held snapshot keeps dead is not walked by every claim
-- dies: tests/sql/test_fairness.py::test_claims_do_not_walk_again_and_again_what_a_held_snapshot_keeps_dead
create or replace function holdfast.keep_ring(p_queue text, p_took interval) returns void language sql as 'select';
