-- guard: who takes calls passes over those that somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[take_dispatches]
select pg_temp.without('holdfast.take_dispatches', $guard$skip locked$guard$);
