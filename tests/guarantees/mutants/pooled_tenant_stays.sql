-- guard: behind a pooler nobody sees whom another entered for
-- dies: tests/guarantees/test_pgbouncer.py::test_nobody_behind_a_pooler_sees_whom_another_entered_for
-- pace: slow
select pg_temp.without('holdfast.enter', $guard$set_config('holdfast.tenant', p_tenant, true)$guard$, $guard$set_config('holdfast.tenant', p_tenant, false)$guard$);
select pg_temp.without('holdfast.enter', $guard$set_config('role', v_role, true)$guard$, $guard$set_config('role', v_role, false)$guard$);
