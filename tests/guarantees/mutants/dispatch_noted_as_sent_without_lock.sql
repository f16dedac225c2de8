-- guard: that an executor has a run is noted under the lock of its job
-- dies: tests/sql/test_dispatch.py::test_what_is_noted_of_a_run_is_noted_with_its_job_in_hand[sent]
select pg_temp.without('holdfast.dispatch_sent', $guard$perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;$guard$);
