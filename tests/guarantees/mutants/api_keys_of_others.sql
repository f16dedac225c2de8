-- guard: an admin of one tenant touches its keys only
-- dies: tests/service/test_keys.py::test_the_database_itself_keeps_a_tenants_admin_from_other_keys
select pg_temp.without('holdfast.lock_key', ' and (p_bound is null or k.tenant = p_bound)');
