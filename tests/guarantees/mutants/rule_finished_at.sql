-- guard: a job has an end exactly when it has ended
-- dies: tests/sql/test_rules.py::test_the_rule_behind_the_guard_stands_too
select pg_temp.without('holdfast.broken_rule', $guard$WHEN ((p_status = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) <> (p_finished_at IS NOT NULL))$guard$, $guard$WHEN (false)$guard$);
