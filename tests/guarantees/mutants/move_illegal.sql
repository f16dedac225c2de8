-- guard: the machine makes legal moves only
-- dies: tests/sql/test_rules.py::test_a_wrong_move_is_refused_however_well_it_is_written
select pg_temp.without('holdfast.guard_move', $guard$not holdfast.is_legal(old.status, new.status)$guard$, $guard$false$guard$);
