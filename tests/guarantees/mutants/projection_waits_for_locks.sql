-- guard: who finds somebody at the projection leaves it to them
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[project]
select pg_temp.without('holdfast.project', $guard$skip locked$guard$);
