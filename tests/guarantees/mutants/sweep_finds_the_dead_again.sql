-- guard: who was declared dead does not die again
-- dies: tests/sql/test_sweep.py::test_a_second_sweep_finds_nothing_more
select pg_temp.without('holdfast.sweep', $guard$w.died_at is null$guard$, $guard$true$guard$);
