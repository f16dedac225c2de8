-- guard: who was enqueued under a rejecting limit counts before it is admitted
-- dies: tests/guarantees/test_limits.py::test_of_16_that_enqueue_under_a_rejecting_limit_exactly_one_wins
select pg_temp.without('holdfast.join_limits', $guard$s.job_id <> v_limit.id$guard$, $instead$s.job_id <> v_limit.id and s.n is not null$instead$);
