-- guard: an operation of a tenant waits for nobody who is at what hangs on another's job
-- dies: tests/sql/test_waiting.py::test_a_cancel_that_moves_nothing_waits_for_nobody[bulk]
select pg_temp.without('holdfast.moved_with', '(p_tenant is null or j.tenant = p_tenant) and ');
