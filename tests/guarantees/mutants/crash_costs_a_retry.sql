-- guard: a crash is no failure of the task, and costs no retry
-- dies: tests/sql/test_model.py::test_whatever_happens_to_jobs_the_machine_does_what_its_model_does
-- pace: slow
select pg_temp.without('holdfast.settle', $guard$retry_count = m.retry_count + (m.outcome = 'failed' and m.to_status = 'RETRY')::int$guard$, $instead$retry_count = least(m.retry_count + (m.outcome <> 'released' and m.to_status = 'RETRY')::int, j.max_retries)$instead$);
