-- guard: the requester does not decide
-- dies: tests/sql/test_approvals.py::test_the_requester_does_not_decide
select pg_temp.without('holdfast.objection', $guard$NOT (p_gate).self_approval$guard$, 'false');
