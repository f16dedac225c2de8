-- guard: only a RUNNING job has a deadline
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_deadline_at IS NOT NULL) AND$guard$, $guard$WHEN (false AND (p_deadline_at IS NOT NULL) AND$guard$);
