-- guard: what a job has needed or awaited is kept while what undoes it may run
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_what_a_compensation_that_can_be_retried_finds_again[awaited]
select pg_temp.without('holdfast.is_needed', $guard$holdfast.is_to_be_undone(f.id)$guard$, $guard$false$guard$);
