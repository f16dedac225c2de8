-- guard: retention keeps a run that is to be cancelled until its executor was told
-- dies: tests/sql/test_dispatch.py::test_retention_keeps_a_run_that_is_to_be_cancelled_until_its_executor_was_told
-- pace: quick
select pg_temp.without('holdfast.is_needed', $guard$d.next_try_at is not null$guard$, 'false');
