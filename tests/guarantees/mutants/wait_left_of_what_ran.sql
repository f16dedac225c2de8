-- guard: a job that ends while it runs leaves no wait that an end beside it has counted
-- dies: tests/sql/test_waiting.py::test_no_wait_is_left_of_a_running_job_that_is_cancelled_beside_the_end_of_what_it_waits_for[cancel]
select pg_temp.without('holdfast.follow_up', $guard$ or j.came_from not in ('PENDING', 'WAITING')$guard$);
