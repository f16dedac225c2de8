-- guard: what a limit rejects stops no operation on many jobs
-- dies: tests/sql/test_bulk.py::test_a_retry_that_a_limit_rejects_is_counted_as_refused
select pg_temp.without('holdfast.operate', $guard$ or sqlstate 'HF012'$guard$, $guard$$guard$);
