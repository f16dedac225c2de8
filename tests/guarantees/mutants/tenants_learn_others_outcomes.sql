-- guard: a bound caller learns what came of its own jobs only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_steers_its_own_jobs_and_finds_no_others
select pg_temp.without('holdfast.job_outcome', $guard$    from holdfast.job j where j.id = p_id and holdfast.may_touch(j.tenant);$guard$, $guard$    from holdfast.job j where j.id = p_id and true;$guard$);
