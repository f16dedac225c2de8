-- guard: who reads what is redacted looks whose it is
-- dies: tests/sql/test_bounds.py::test_every_function_that_a_caller_may_call_looks_whose_a_thing_is
select pg_temp.without('holdfast.hidden_of', $guard$   where j.id = p_job and t.options ? 'redact' and holdfast.may_touch(j.tenant)$guard$, $guard$   where j.id = p_job and t.options ? 'redact' and true$guard$);
