-- guard: only the approvers decide
-- dies: tests/sql/test_approvals.py::test_only_the_approvers_decide_where_any_are_named
select pg_temp.without('holdfast.objection', $guard$(cardinality((p_gate).approvers) > 0)$guard$, '(false)');
