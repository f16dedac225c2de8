-- guard: a retry is kept as long as what it retries
-- dies: tests/sql/test_upkeep.py::test_what_was_retried_once_is_not_retried_again_when_retention_has_come_by
select pg_temp.without('holdfast.is_needed', $guard$or exists (select from holdfast.job r join holdfast.job o on o.id = any (array[r.retry_of]) where r.id = p_job)$guard$);
