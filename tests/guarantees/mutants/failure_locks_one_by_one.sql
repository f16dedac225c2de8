-- guard: a failure that cancels others locks them, and who waits for them, in the order of their ids
-- dies: tests/sql/test_waiting.py::test_a_failure_that_cancels_a_follower_and_a_cancel_of_the_parent_of_both_do_not_deadlock[follower]
select pg_temp.without('holdfast.follow_up', 'perform holdfast.lock_what_follows(p_ids);');
