-- guard: an attempt that handed its job over writes nothing more
-- dies: tests/sql/test_dispatch.py::test_an_attempt_that_handed_its_job_over_can_write_nothing_more
select pg_temp.without('holdfast.hold_fence', $guard$exists (select from holdfast.dispatch d where d.id = v_job.holder)$guard$, $guard$false$guard$);
