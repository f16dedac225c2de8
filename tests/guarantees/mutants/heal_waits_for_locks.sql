-- guard: who finds somebody healing leaves it to them
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[heal]
select pg_temp.without('holdfast.heal', $guard$skip locked$guard$);
