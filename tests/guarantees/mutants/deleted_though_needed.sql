-- guard: what another job needs is not deleted
-- dies: tests/sql/test_change_races.py::test_a_job_that_is_retried_meanwhile_is_not_deleted
select pg_temp.without('holdfast.why_unchanged', 'p_action = ''delete'' and holdfast.is_needed(p_job.id, p_job.parent_id)', 'false');
