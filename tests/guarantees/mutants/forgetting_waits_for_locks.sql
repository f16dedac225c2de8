-- guard: who finds somebody at the projection forgets nothing
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[forget_projected]
select pg_temp.without('holdfast.forget_projected', $guard$skip locked$guard$);
