-- guard: who looks at a run looks whose it is
-- dies: tests/sql/test_bounds.py::test_every_function_that_a_caller_may_call_looks_whose_a_thing_is
select pg_temp.without('holdfast.check_run', $guard$  select * into v_job from holdfast.job j where j.id = p_job and j.status = 'RUNNING' and holdfast.may_touch(j.tenant) for no key update skip locked;$guard$, $guard$  select * into v_job from holdfast.job j where j.id = p_job and j.status = 'RUNNING' and true for no key update skip locked;$guard$);
