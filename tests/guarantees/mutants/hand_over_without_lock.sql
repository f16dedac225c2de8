-- guard: a hand-over that is repeated waits for its first try
-- dies: tests/sql/test_dispatch.py::test_a_hand_over_that_waits_for_its_own_first_try_is_the_same_one
select pg_temp.without('holdfast.hand_over', $guard$perform from holdfast.job j where j.id = p_job for no key update;$guard$);
