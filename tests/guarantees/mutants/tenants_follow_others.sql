-- guard: a bound caller follows its own jobs
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_follows_its_own_jobs_and_channels
select pg_temp.without('holdfast.follow_job', $guard$ and holdfast.may_touch(j.tenant)$guard$, '');
