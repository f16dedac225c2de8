-- guard: nobody enters for no tenant
-- dies: tests/sql/test_tenancy.py::test_nobody_enters_for_no_tenant
select pg_temp.without('holdfast.enter', $guard$coalesce(p_tenant, '') = ''$guard$, $guard$false$guard$);
