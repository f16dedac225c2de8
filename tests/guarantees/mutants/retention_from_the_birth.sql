-- guard: retention counts from the end of a job
-- dies: tests/sql/test_upkeep.py::test_retention_counts_from_the_end_not_from_the_birth
select pg_temp.without('holdfast.apply_retention', $guard$j.finished_at < v_task.cutoff and $guard$, '');
