-- guard: a job that is claimed while its queue is limited keeps its slots
-- dies: tests/sql/test_slots.py::test_a_job_that_is_claimed_while_its_queue_is_limited_keeps_its_slots
select pg_temp.without('holdfast.clear_line', $guard$perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;$guard$);
