-- guard: what a job waited for before is put away when it waits for others
-- dies: tests/sql/test_waiting.py::test_jobs_that_a_job_waited_for_before_do_not_end_its_wait_for_others
select pg_temp.without('holdfast.wait_for_jobs', 'if waits or not v_is_again then', 'if false then');
