-- guard: a failed compensation is kept while a retry by hand waits for it
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_a_failed_compensation_while_a_retry_by_hand_waits_for_it
select pg_temp.without('holdfast.is_needed', $guard$c.id = p_job and c.status = 'FAILED' and r.finished_at is null$guard$, $guard$false$guard$);
