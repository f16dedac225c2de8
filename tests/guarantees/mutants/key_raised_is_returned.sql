-- guard: the policy raise names the job that holds the key
-- dies: tests/sql/test_keys.py::test_policy_raise_names_the_job_that_holds_the_key
select pg_temp.without('holdfast.settle_conflict', $guard$if found and v_policy = 'raise' then$guard$, $guard$if false then$guard$);
