-- guard: what a job waited for before does not end its wait for others
-- dies: tests/sql/test_waiting.py::test_jobs_that_a_job_waited_for_before_do_not_end_its_wait_for_others
select pg_temp.without('holdfast.tell_followers', ' and d.position <> 0');
