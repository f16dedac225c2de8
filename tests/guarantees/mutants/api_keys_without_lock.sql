-- guard: two keys of a name count at most
-- dies: tests/service/test_keys.py::test_who_makes_a_key_waits_for_who_makes_one_of_its_name
select pg_temp.without('holdfast.create_key', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:key:' || coalesce(p_tenant, '') || ':' || p_name, 0));$guard$);
