-- guard: a changed time is found: the chain covers when it was
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 a birth is dated back a little]
select pg_temp.without('holdfast.said', $guard$timestamptz_send(p_at)$guard$, $guard$timestamptz_send('epoch')$guard$);
