-- guard: a sign of life ends the calls
-- dies: tests/sql/test_dispatch.py::test_a_sign_of_life_proves_that_the_call_was_obeyed
select pg_temp.without('holdfast.obey_callback', $guard$doubtful = false, next_try_at = null$guard$, $guard$doubtful = false$guard$);
