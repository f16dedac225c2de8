-- guard: a completion links the reason that its job kept
-- dies: tests/sql/test_chain.py::test_a_reason_that_a_running_job_keeps_is_told_when_it_completes
select pg_temp.without('holdfast.complete', $guard$case when j.reason is null then v_said$guard$, $guard$case when true then v_said$guard$);
