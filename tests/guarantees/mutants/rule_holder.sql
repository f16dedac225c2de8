-- guard: a job has a holder exactly while it is RUNNING
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_status = 'RUNNING'::holdfast.job_status) <> (p_holder IS NOT NULL))$guard$, $guard$WHEN (false)$guard$);
