-- guard: a bound caller lists keys of its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_finds_no_keys_but_its_own
select pg_temp.without('holdfast.list_keys', $guard$     where (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant)$guard$, $guard$     where (p_bound is null or k.tenant = p_bound) and true$guard$);
