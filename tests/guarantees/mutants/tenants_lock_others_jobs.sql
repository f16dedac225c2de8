-- guard: a bound caller locks no jobs of others
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_waits_for_nobody_who_is_at_anothers_jobs[jobs]
select pg_temp.without('holdfast.lock_jobs', $guard$((p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant))$guard$, $guard$(p_tenant is null or j.tenant = p_tenant)$guard$);
