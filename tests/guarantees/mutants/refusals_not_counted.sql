-- guard: what a guard refuses is counted, though its transaction is taken back
-- dies: tests/guarantees/test_audit.py::test_what_a_guard_refused_is_counted_and_found
select pg_temp.without('holdfast.count_refusal', 'select nextval(''holdfast.refusal'')', 'select null::void');
