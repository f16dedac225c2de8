-- guard: what has started is not replaced
-- dies: tests/sql/test_model.py::test_whatever_happens_to_jobs_the_machine_does_what_its_model_does
select pg_temp.without('holdfast.settle_conflict', 'v_policy = ''replace'' and v_old.status = ''PENDING''', 'v_policy = ''replace'' and v_old.finished_at is null');
