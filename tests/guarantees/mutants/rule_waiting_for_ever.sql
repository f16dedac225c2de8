-- guard: a WAITING job is in line, due or held back
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_status = 'WAITING'::holdfast.job_status) AND (p_claim_order IS NULL)$guard$, $guard$WHEN (false AND (p_status = 'WAITING'::holdfast.job_status) AND (p_claim_order IS NULL)$guard$);
