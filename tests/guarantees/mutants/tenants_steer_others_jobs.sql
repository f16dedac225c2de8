-- guard: a bound caller steers its own jobs only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_steers_its_own_jobs_and_finds_no_others
select pg_temp.without('holdfast.lock_job', $guard$ or not holdfast.may_touch(v_job.tenant)$guard$, '');
