-- guard: a job that was not sent yet is not silent
-- dies: tests/sql/test_callback.py::test_a_job_that_was_not_sent_yet_is_not_silent
select pg_temp.without('holdfast.run_fault', $guard$where p_run.state = 'sent'$guard$, $guard$where true$guard$);
select pg_temp.without('holdfast.run_fault', $guard$greatest(p_run.seen_at, p_run.sent_at)$guard$, $guard$greatest(p_run.seen_at, p_run.sent_at, p_run.created_at)$guard$);
select pg_temp.without('holdfast.run_fault', $guard$ and l.silent_at <= l.late_at$guard$);
select pg_temp.without('holdfast.check_runs', $guard$d.state = 'sent' and $guard$);
