-- guard: a changed wait is found: the chain covers since when it was so
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 what it waited is rewritten]
select pg_temp.without('holdfast.linked', $guard$timestamptz_send(p_since)$guard$, $guard$timestamptz_send(NULL::timestamptz)$guard$);
