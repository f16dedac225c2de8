-- guard: who waits for the limit of a queue that it leaves waits no more
-- dies: tests/sql/test_changes.py::test_a_job_that_waited_for_the_old_queues_limit_waits_no_more
select pg_temp.without('holdfast.put_into_queue', 'nullif(j.held_by, ''limit:'' || v_old_key)', 'j.held_by');
