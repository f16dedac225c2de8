-- guard: nobody is asked to cancel a run that nobody started
-- dies: tests/sql/test_dispatch.py::test_cancelling_a_job_that_nobody_was_called_for_calls_nobody
select pg_temp.without('holdfast.stop_runs', $guard$d.state <> 'planned' or d.doubtful$guard$, $guard$true$guard$);
