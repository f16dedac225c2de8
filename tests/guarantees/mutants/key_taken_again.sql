-- guard: a key that was given up is not taken again
-- dies: tests/sql/test_rules.py::test_a_job_does_not_take_a_key_that_it_gave_up
select pg_temp.without('holdfast.guard_move', $guard$new.key_held := old.key_held and new.key_held;$guard$, $guard$null;$guard$);
