-- guard: that an executor was told of a cancel is noted under the lock of its job
-- dies: tests/sql/test_dispatch.py::test_what_is_noted_of_a_run_is_noted_with_its_job_in_hand[cancelled]
select pg_temp.without('holdfast.dispatch_cancelled', $guard$perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;$guard$);
