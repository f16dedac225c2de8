-- guard: no job leaves an undecided approval behind
-- dies: tests/sql/test_approvals.py::test_a_job_does_not_leave_an_undecided_approval_behind
select pg_temp.without('holdfast.told_of_decision', $guard$v_gate.decided_at is null$guard$, 'false');
