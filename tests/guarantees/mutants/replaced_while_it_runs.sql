-- guard: what has started is not replaced
-- dies: tests/sql/test_keys.py::test_policy_replace_returns_a_job_that_has_started[WAITING]
select pg_temp.without('holdfast.settle_conflict', 'v_policy = ''replace'' and v_old.status = ''PENDING''', 'v_policy = ''replace'' and v_old.finished_at is null');
