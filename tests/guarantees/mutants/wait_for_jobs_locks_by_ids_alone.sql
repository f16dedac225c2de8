-- guard: who is to wait for several jobs comes first for those that run
-- dies: tests/sql/test_waiting.py::test_the_end_of_a_child_and_who_comes_for_it_and_its_waiting_parent_do_not_deadlock[wait]
select pg_temp.without('holdfast.wait_for_jobs', 'j.status = ''RUNNING'' desc, ');
