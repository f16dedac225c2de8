-- guard: an attempt that lost its job begins no delivery
-- dies: tests/sql/test_alerts.py::test_an_attempt_that_lost_its_job_can_neither_begin_nor_end_a_delivery
-- pace: quick
select pg_temp.without('holdfast.begin_delivery', $guard$perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);$guard$);
