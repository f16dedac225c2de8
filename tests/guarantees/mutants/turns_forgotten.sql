-- guard: a turn goes on where the last one ended
-- dies: tests/sql/test_fairness.py::test_tenants_take_turns
create or replace function holdfast.keep_turn(p_queue text, p_tenant text, p_used int) returns void language sql as 'select';
