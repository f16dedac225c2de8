-- guard: an approval counts for what was asked
-- dies: tests/sql/test_approvals.py::test_an_approval_does_not_count_for_another_question[changed1]
select pg_temp.without('holdfast.ask', $guard$v_asked.bound_hash <> v_gate.bound_hash$guard$, 'false');
