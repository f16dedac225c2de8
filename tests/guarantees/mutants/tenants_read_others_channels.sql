-- guard: a bound caller reads what is new for its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_follows_its_own_jobs_and_channels
select pg_temp.without('holdfast.read_channels', $guard$       where holdfast.may_touch(nullif(a.tenant, '*'))$guard$, $guard$       where true$guard$);
