-- guard: claims do not wait for each other's long looks
-- dies: tests/sql/test_fairness.py::test_a_long_look_is_not_waited_for
select pg_temp.without('holdfast.keep_ring', $guard$ skip locked$guard$, $guard$$guard$);
