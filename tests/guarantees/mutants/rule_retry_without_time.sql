-- guard: RETRY needs a time
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_status = 'RETRY'::holdfast.job_status) AND (p_due_at IS NULL))$guard$, $guard$WHEN (false)$guard$);
