-- guard: a month that upkeep makes is bound to tenants like the first
-- dies: tests/sql/test_upkeep.py::test_a_month_made_by_upkeep_is_bound_to_tenants_like_the_first
select pg_temp.without('holdfast.ensure_history_partition', $guard$perform holdfast.bind_to_tenants(('holdfast.' || v_name)::regclass, 'false');$guard$, '');
