-- guard: who was declared dead says no goodbye
-- dies: tests/sql/test_finish.py::test_who_was_declared_dead_says_no_goodbye
select pg_temp.without('holdfast.retire_worker', $guard$ and w.died_at is null$guard$);
