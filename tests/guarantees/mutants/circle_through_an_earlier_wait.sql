-- guard: a job may wait for one that waited for it before and does so no more
-- dies: tests/sql/test_waiting.py::test_a_job_may_wait_for_one_that_waited_for_it_before
select pg_temp.without('holdfast.is_awaited_by', ' and d.position <> 0');
