-- guard: a bound caller revokes keys of its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_finds_no_keys_but_its_own
select pg_temp.without('holdfast.lock_key', $guard$  select * into v_key from holdfast.api_key k where k.id = p_id and (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant) for update;$guard$, $guard$  select * into v_key from holdfast.api_key k where k.id = p_id and (p_bound is null or k.tenant = p_bound) and true for update;$guard$);
