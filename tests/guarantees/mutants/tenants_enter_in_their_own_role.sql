-- guard: who enters for a tenant acts as a role that is bound
-- dies: tests/sql/test_tenancy.py::test_whoever_enters_for_a_tenant_is_bound_whatever_its_login_may
select pg_temp.without('holdfast.enter', $guard$perform set_config('role', v_role, true);$guard$, $guard$null;$guard$);
