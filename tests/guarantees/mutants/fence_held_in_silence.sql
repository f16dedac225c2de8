-- guard: who holds the fence and falls silent lets go of it within the lease
-- dies: tests/guarantees/test_fence.py::test_a_worker_that_falls_silent_before_its_commit_keeps_the_job_no_longer_than_its_lease
-- pace: slow
select pg_temp.without('holdfast.hold_fence', $guard$  perform holdfast.let_go_in_silence(v_job.holder);$guard$);
