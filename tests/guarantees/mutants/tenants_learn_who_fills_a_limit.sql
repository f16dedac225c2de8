-- guard: a limit that tenants share does not tell whose job fills it
-- dies: tests/sql/test_bounds.py::test_a_limit_that_tenants_share_does_not_tell_whose_job_fills_it
select pg_temp.without('holdfast.join_limits', $guard$      v_known := (select holdfast.may_touch(j.tenant) from holdfast.job j where j.id = v_other);$guard$, $guard$      v_known := (select true from holdfast.job j where j.id = v_other);$guard$);
