-- guard: an admin of one tenant touches its keys only
-- dies: tests/service/test_keys.py::test_an_admin_of_one_tenant_sees_and_touches_its_keys_only
select pg_temp.without('holdfast.lock_key', ' and (p_bound is null or k.tenant = p_bound)');
