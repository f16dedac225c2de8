-- guard: two keys of a name count at most
-- dies: tests/service/test_keys.py::test_two_keys_of_a_name_count_at_most_also_when_asked_at_once
select pg_temp.without('holdfast.create_key', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:key:' || coalesce(p_tenant, '') || ':' || p_name, 0));$guard$);
