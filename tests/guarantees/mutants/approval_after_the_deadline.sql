-- guard: a decision after the deadline is too late before any sweep
-- dies: tests/sql/test_approvals.py::test_a_token_after_the_deadline_is_told_what_the_clock_decided
select pg_temp.without('holdfast.open_approval', $guard$v_gate.decided_at is null and v_gate.expires_at <= holdfast.clock()$guard$, 'false');
