-- guard: a slot has one holder
-- dies: tests/guarantees/test_limits.py::test_who_admits_while_another_does_takes_no_slot_that_it_cannot_see
alter table holdfast.slot drop constraint slot_has_one_holder;
select pg_temp.without('holdfast.free_slot', $guard$not pg_try_advisory_xact_lock(hashtextextended('holdfast:limit:' || p_key, 0))$guard$, 'false');
