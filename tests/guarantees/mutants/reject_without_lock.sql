-- guard: who enqueues under a rejecting limit waits for the others who do
-- dies: tests/guarantees/test_limits.py::test_who_enqueues_under_a_rejecting_limit_waits_for_who_does
select pg_temp.without('holdfast.join_limits', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:reject:' || v_limit.key, 0))$guard$, 'perform 1');
