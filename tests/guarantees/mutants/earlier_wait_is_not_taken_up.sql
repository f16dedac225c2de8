-- guard: a job may wait again for what it waited for before
-- dies: tests/sql/test_waiting.py::test_a_job_waits_again_for_what_it_waited_for_before
select pg_temp.without('holdfast.wait_for_jobs', 'do update set position = excluded.position where dependency.position = 0', 'do nothing');
