-- guard: a slot is kept over a retry
-- dies: tests/guarantees/test_limits.py::test_a_killed_worker_keeps_its_jobs_slot_for_the_next_attempt_and_leaks_none
-- pace: slow
select pg_temp.without('holdfast.release_slots', $guard$bool_or(l.release_while_waiting)$guard$, 'count(*) > 0');
