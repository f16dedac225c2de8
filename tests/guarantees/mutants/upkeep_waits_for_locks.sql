-- guard: who finds somebody at upkeep leaves it to them
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[keep_up]
select pg_temp.without('holdfast.keep_up', $guard$skip locked$guard$);
