-- guard: what is not counted yet is not deleted
-- dies: tests/sql/test_changes.py::test_a_job_whose_end_is_not_counted_yet_is_not_deleted
select pg_temp.without('holdfast.why_unchanged', 'p_action = ''delete'' and holdfast.awaits_projection(p_job.id)', 'false');
