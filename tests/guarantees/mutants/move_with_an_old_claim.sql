-- guard: a claim has an id of its own
-- dies: tests/sql/test_rules.py::test_a_wrong_move_is_refused_however_well_it_is_written
select pg_temp.without('holdfast.guard_move', $guard$new.claim_id is null or new.claim_id is not distinct from old.claim_id$guard$, $guard$false$guard$);
