-- guard: a bound caller reads moves of its own jobs only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_follows_its_own_jobs_and_channels
select pg_temp.without('holdfast.read_jobs', $guard$    join holdfast.job j on j.id = a.job and holdfast.may_touch(j.tenant)$guard$, $guard$    join holdfast.job j on j.id = a.job and true$guard$);
