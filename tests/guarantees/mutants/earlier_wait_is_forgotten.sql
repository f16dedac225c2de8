-- guard: what a wait that was given up may still read is kept when another is answered at once
-- dies: tests/sql/test_waiting.py::test_what_a_job_waited_for_before_is_kept_for_it_when_another_wait_is_over_at_once
select pg_temp.without('holdfast.wait_for_jobs', 'if waits or not v_is_again then', 'if waits then');
