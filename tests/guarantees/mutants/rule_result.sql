-- guard: only a COMPLETED job has a result
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_result IS NOT NULL) AND$guard$, $guard$WHEN (false AND (p_result IS NOT NULL) AND$guard$);
