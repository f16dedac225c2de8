-- guard: a cancel locks what it moves together with its job, in the order of their ids
-- dies: tests/sql/test_waiting.py::test_a_cancel_of_a_child_and_one_of_its_waiting_parent_do_not_deadlock
select pg_temp.without('holdfast.cancel', 'perform holdfast.lock_jobs(array[p_id], null, array(select m from holdfast.moved_with(array[p_id]) as m));');
