-- guard: a bound caller's jobs run after its own only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_enqueues_for_its_own_tenant_only
select pg_temp.without('holdfast.join_parents', $guard$ and holdfast.may_touch(p.tenant)$guard$, '');
