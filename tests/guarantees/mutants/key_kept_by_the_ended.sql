-- guard: a key is held as long as its scope says
-- dies: tests/sql/test_keys.py::test_a_key_is_held_as_long_as_its_scope_says
select pg_temp.without('holdfast.guard_move', $guard$new.key_held := new.key_held and (new.key_scope = 'ever' or (new.key_scope = 'success' and new.status = 'COMPLETED'));$guard$, $guard$null;$guard$);
