-- guard: an attempt that was superseded is told so
-- dies: tests/sql/test_callback.py::test_an_attempt_that_was_superseded_is_told_so
select pg_temp.without('holdfast.judge_callback', $guard$    when p_job.attempt <> p_run.attempt or p_job.claim_id is distinct from p_run.claim_id then 'stale_attempt'
$guard$);
