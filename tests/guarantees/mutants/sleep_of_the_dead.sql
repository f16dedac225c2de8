-- guard: who was declared dead is not asleep
-- dies: tests/sql/test_finish.py::test_who_was_declared_dead_is_not_asleep
select pg_temp.without('holdfast.fall_asleep', $guard$ and w.died_at is null$guard$);
