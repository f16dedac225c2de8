-- guard: a job is born PENDING
-- dies: tests/guarantees/test_history.py::test_a_job_is_born_pending[origin]
select pg_temp.without('holdfast.record_births', $guard$b.status <> 'PENDING' or b.attempt$guard$, $guard$b.attempt$guard$);
