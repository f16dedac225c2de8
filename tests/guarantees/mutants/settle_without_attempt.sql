-- guard: settle shows the attempt number
-- dies: tests/sql/test_finish.py::test_a_wrong_fence_opens_nothing[failed-forged0]
select pg_temp.without('holdfast.settle', $guard$ and j.attempt = o.attempt$guard$);
