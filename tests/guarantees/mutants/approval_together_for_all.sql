-- guard: only gates that say so are approved together
-- dies: tests/dashboard/test_approvals.py::test_a_gate_that_does_not_say_so_is_refused_whoever_sends_it
select pg_temp.without('holdfast.approve_together', 'v_gate.decided_at is null and not v_gate.bulk', 'false');
