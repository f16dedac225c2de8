-- guard: a slot that is free is offered on until somebody can use it
-- dies: tests/sql/test_slots.py::test_a_free_slot_finds_whoever_can_use_it_behind_many_who_cannot
select pg_temp.without('holdfast.admit_due', 'holdfast.pass_on_turns(v_parked)', $instead$'{}'::text[]$instead$);
