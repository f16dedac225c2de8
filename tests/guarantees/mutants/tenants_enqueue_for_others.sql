-- guard: a bound caller enqueues for its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_enqueues_for_its_own_tenant_only
select pg_temp.without('holdfast.own_jobs', $guard$where not holdfast.may_touch(case when e.one ->> 'tenant' is null and not coalesce(e.one -> 'payload' ? '$encrypted', false)
                                     then holdfast.bound_tenant() else e.one ->> 'tenant' end)$guard$, $guard$where false$guard$);
