-- guard: cancelling a job cancels its run
-- dies: tests/sql/test_dispatch.py::test_cancelling_a_job_cancels_its_run_without_waiting_for_it
select pg_temp.without('holdfast.follow_up', $guard$    perform holdfast.stop_runs(v_ids);$guard$);
