-- guard: an error is a JSON object
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.broken_rule', $guard$WHEN (jsonb_typeof(p_error) <> 'object'::text)$guard$, $guard$WHEN (false)$guard$);
