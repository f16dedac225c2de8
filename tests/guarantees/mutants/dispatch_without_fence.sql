-- guard: an attempt that lost its job cannot hand it over
-- dies: tests/sql/test_dispatch.py::test_an_attempt_that_lost_its_job_cannot_hand_it_over
select pg_temp.without('holdfast.hand_over', $guard$v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);$guard$, $guard$select * into v_job from holdfast.job j where j.id = p_job;$guard$);
