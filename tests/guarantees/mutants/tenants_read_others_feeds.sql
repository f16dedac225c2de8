-- guard: a bound caller reads channels of its own tenant
-- dies: tests/sql/test_bounds.py::test_of_a_subject_that_two_tenants_have_a_bound_reader_sees_its_own_jobs_events
select pg_temp.without('holdfast.read_feed', $guard$holdfast.may_touch(holdfast.channel_tenant(p_channel))$guard$, $guard$true$guard$);
