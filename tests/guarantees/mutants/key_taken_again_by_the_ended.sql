-- guard: a terminal job does not take its key again
-- dies: tests/sql/test_moves.py::test_a_terminal_job_cannot_take_its_key_again
select pg_temp.without('holdfast.guard_stay', $guard$new.key_held := old.key_held;
$guard$, $guard$
$guard$);
select pg_temp.without('holdfast.guard_stay', $guard$old.key_held := old.key_held and new.key_held;$guard$, $guard$old.key_held := new.key_held;$guard$);
