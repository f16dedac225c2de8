-- guard: only what has ended is deleted
-- dies: tests/sql/test_changes.py::test_what_has_not_ended_is_not_deleted[PENDING]
select pg_temp.without('holdfast.why_unchanged', 'p_action = ''delete'' and not holdfast.is_terminal(p_job.status)', 'false');
