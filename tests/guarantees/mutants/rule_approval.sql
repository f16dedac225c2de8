-- guard: a job has an approval exactly while it waits for one
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_status = 'WAITING_FOR_APPROVAL'::holdfast.job_status) <> (p_approval_id IS NOT NULL))$guard$, $guard$WHEN (false)$guard$);
