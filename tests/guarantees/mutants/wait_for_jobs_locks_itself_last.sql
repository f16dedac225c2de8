-- guard: a wait for jobs locks all in the order of their ids, the waiting one too
-- dies: tests/sql/test_waiting.py::test_a_wait_for_a_child_and_a_cancel_of_its_parent_do_not_deadlock
select pg_temp.without('holdfast.wait_for_jobs', 'p_ids || p_job', 'p_ids');
