-- guard: a job that is cancelled while its executor is called has its run cancelled
-- dies: tests/sql/test_dispatch.py::test_a_job_cancelled_while_its_executor_is_called_has_its_run_cancelled
select pg_temp.without('holdfast.dispatch_sent', $guard$case when d.state = 'over' then 'over' else 'sent' end$guard$, $guard$'sent'$guard$);
select pg_temp.without('holdfast.dispatch_sent', $guard$case when d.state = 'over' then d.next_try_at end$guard$, $guard$null$guard$);
