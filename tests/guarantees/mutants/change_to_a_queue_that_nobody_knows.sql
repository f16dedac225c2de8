-- guard: jobs go to queues that somebody has declared or serves
-- dies: tests/sql/test_changes.py::test_a_queue_that_nobody_knows_is_a_slip_of_the_pen
select pg_temp.without('holdfast.check_queue', 'exists (select from holdfast.queue q where q.name = p_queue)', 'true');
