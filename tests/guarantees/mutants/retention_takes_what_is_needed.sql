-- guard: retention keeps what a job that goes on needs
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_a_job_while_its_retry_goes_on
select pg_temp.without('holdfast.apply_retention', $guard$and not holdfast.is_needed(j.id, j.parent_id)$guard$, '');
select pg_temp.without('holdfast.apply_retention', $guard$where not holdfast.is_needed(j.id, j.parent_id)$guard$, '');
