-- guard: a release counts as nothing
-- dies: tests/guarantees/test_fence.py::test_a_release_counts_as_nothing_and_puts_the_job_back_in_line
select pg_temp.without('holdfast.settle', $guard$(m.outcome = 'failed' and m.to_status = 'RETRY')::int$guard$, $guard$(m.to_status = 'RETRY' and m.retry_count < j.max_retries)::int$guard$);
