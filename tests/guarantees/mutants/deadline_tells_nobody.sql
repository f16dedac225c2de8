-- guard: whoever runs an overdue attempt is told
-- dies: tests/sql/test_sweep.py::test_whoever_runs_an_overdue_attempt_is_told
select pg_temp.without('holdfast.end_overdue', $guard$pg_notify('holdfast_cancel', e.id::text)$guard$, $guard$1$guard$);
