-- guard: a changed transaction is found: the chain covers which one moved the job
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 a row is of another transaction]
select pg_temp.without('holdfast.said', $guard$int8send(p_xid)$guard$, $guard$int8send(0)$guard$);
