-- guard: a job that is claimed while its task is paused runs
-- dies: tests/sql/test_slots.py::test_a_job_that_is_claimed_while_its_task_is_paused_runs
select pg_temp.without('holdfast.clear_closed', $guard$perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;$guard$);
