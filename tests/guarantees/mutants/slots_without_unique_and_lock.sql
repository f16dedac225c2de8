-- guard: a slot has one holder
-- dies: tests/guarantees/test_limits.py::test_no_limit_is_exceeded_and_nobody_is_stranded_under_16_racing_claimers
-- strikes: 250
alter table holdfast.slot drop constraint slot_has_one_holder;
select pg_temp.without('holdfast.free_slot', $guard$not pg_try_advisory_xact_lock(hashtextextended('holdfast:limit:' || p_key, 0))$guard$, 'false');
