-- guard: who was declared dead while it waited to complete its job lets go of it at once
-- dies: tests/sql/test_fences.py::test_who_was_declared_dead_meanwhile_completes_nothing_and_lets_go_at_once
select pg_temp.without('holdfast.complete_here', $guard$and w.died_at is not null$guard$, $guard$and false$guard$);
