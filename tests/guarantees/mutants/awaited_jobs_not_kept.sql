-- guard: what a job has waited for is kept while it may be read again
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_what_a_job_has_waited_for_as_long_as_it_may_read_it_again
select pg_temp.without('holdfast.keep_readable', $guard$from unnest(p_ids) as i (id)$guard$, $guard$from unnest(p_ids) as i (id) where false$guard$);
