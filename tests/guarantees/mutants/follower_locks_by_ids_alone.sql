-- guard: who is to run after several jobs comes first for those that run
-- dies: tests/sql/test_waiting.py::test_the_end_of_a_child_and_who_comes_for_it_and_its_waiting_parent_do_not_deadlock[follower]
select pg_temp.without('holdfast.join_parents', 'p.status = ''RUNNING'' desc, ');
