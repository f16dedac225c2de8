-- guard: a bound caller reads reports of its own jobs only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_steers_its_own_jobs_and_finds_no_others
select pg_temp.without('holdfast.job_report', $guard$   where j.id = p_id and holdfast.may_touch(j.tenant)$guard$, $guard$   where j.id = p_id and true$guard$);
