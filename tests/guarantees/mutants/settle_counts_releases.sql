-- guard: a release counts as nothing
-- dies: tests/guarantees/test_drain.py::test_a_second_interrupt_ends_the_worker_at_once_and_releases_its_jobs
-- pace: slow
select pg_temp.without('holdfast.settle', $guard$(m.outcome = 'failed' and m.to_status = 'RETRY')::int$guard$, $guard$(m.to_status = 'RETRY' and m.retry_count < j.max_retries)::int$guard$);
