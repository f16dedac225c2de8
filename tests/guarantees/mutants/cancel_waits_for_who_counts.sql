-- guard: a cancel leaves a wait for jobs that have not all ended to the last of their ends
-- dies: tests/sql/test_waiting.py::test_the_end_of_a_child_and_a_cancel_of_its_waiting_parent_do_not_deadlock
select pg_temp.without('holdfast.follow_up', $guard$
                   and ((w.remaining > 0) is not true or j.came_from not in ('PENDING', 'WAITING'))$guard$);
