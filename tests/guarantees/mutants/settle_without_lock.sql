-- guard: a settlement locks its jobs before it decides about them
-- dies: tests/sql/test_sweep.py::test_a_settlement_that_waits_for_a_sweep_is_refused
select pg_temp.without('holdfast.settle', $guard$
       for no key update of j$guard$);
