-- guard: a bound caller locks no slots of others
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_waits_for_nobody_who_is_at_anothers_jobs[slots]
select pg_temp.without('holdfast.lock_jobs', $guard$ and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = s.job_id)$guard$, $guard$ from holdfast.job j where j.id = s.job_id)$guard$);
