-- guard: of two calls that wait for each other's keys one lets go and comes again
-- dies: tests/sql/test_keys.py::test_two_that_replace_the_same_keys_of_which_one_becomes_free_meanwhile_do_not_deadlock
select pg_temp.without('holdfast.enqueue_many', 'if v_try = v_most then', 'if true then');
