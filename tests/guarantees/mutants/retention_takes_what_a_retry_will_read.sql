-- guard: what a failed job ran after is kept as long as it can be retried
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_what_a_failed_job_ran_after_as_long_as_it_can_be_retried
select pg_temp.without('holdfast.is_needed', $guard$d.position > 0 and f.status = 'FAILED'$guard$, $guard$false$guard$);
