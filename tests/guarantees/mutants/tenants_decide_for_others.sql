-- guard: a bound caller decides what its own jobs ask
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_decides_what_its_own_jobs_ask
select pg_temp.without('holdfast.open_approval', $guard$ and holdfast.may_touch(j.tenant)$guard$, '');
