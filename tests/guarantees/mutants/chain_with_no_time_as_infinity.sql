-- guard: that a row says nothing of since when is told from -infinity
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 what it waited is made up]
select pg_temp.without('holdfast.linked', $guard$COALESCE(timestamptz_send(p_since), '\x8000000000000001'::bytea)$guard$, $guard$timestamptz_send(COALESCE(p_since, '-infinity'::timestamptz))$guard$);
