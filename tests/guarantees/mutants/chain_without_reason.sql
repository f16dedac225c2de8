-- guard: a changed reason is found: the chain covers it
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 a reason is rewritten]
select pg_temp.without('holdfast.said', $guard$COALESCE(p_reason, ''::text)$guard$, $guard$''::text$guard$);
