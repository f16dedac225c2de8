-- guard: who has not said what it declares withdraws nothing
-- dies: tests/sql/test_schedules.py::test_a_worker_that_has_not_said_what_it_declares_withdraws_nothing
select pg_temp.without('holdfast.undeclared_schedules', $guard$ and w.schedules is not null$guard$, $guard$$guard$);
