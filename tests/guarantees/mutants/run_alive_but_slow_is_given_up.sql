-- guard: silence counts from the last callback
-- dies: tests/sql/test_callback.py::test_silence_counts_from_the_last_callback
select pg_temp.without('holdfast.run_fault', $guard$greatest(p_run.seen_at, p_run.sent_at)$guard$, $guard$p_run.sent_at$guard$);
