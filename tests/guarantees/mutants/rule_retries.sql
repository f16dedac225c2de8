-- guard: no more retries than allowed
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_retry_count < 0) OR (p_retry_count > p_max_retries))$guard$, $guard$WHEN (false)$guard$);
