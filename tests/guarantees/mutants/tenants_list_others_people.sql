-- guard: who lists people looks whose they are
-- dies: tests/sql/test_bounds.py::test_every_function_that_a_caller_may_call_looks_whose_a_thing_is
select pg_temp.without('holdfast.list_people', $guard$   where holdfast.may_touch(p.tenant)$guard$, $guard$   where true$guard$);
