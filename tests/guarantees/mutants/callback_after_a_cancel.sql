-- guard: a cancelled job hears no more callbacks
-- dies: tests/sql/test_callback.py::test_after_the_end_no_callback_changes_anything[heartbeat-cancel]
select pg_temp.without('holdfast.judge_callback', $guard$p_job.status <> 'RUNNING' or p_job.holder is distinct from p_run.id$guard$, $guard$p_job.status in ('COMPLETED', 'FAILED')$guard$);
