-- guard: each row of a history is bound to those before it
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 who did it is rewritten]
select pg_temp.without('holdfast.linked', $guard$p_before ||$guard$, $guard$'\x'::bytea ||$guard$);
