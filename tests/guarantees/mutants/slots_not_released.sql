-- guard: the end of a job frees its slots
-- dies: tests/guarantees/test_limits.py::test_a_killed_worker_keeps_its_jobs_slot_for_the_next_attempt_and_leaks_none
-- pace: slow
select pg_temp.without('holdfast.release_slots', $guard$j.finished_at is not null$guard$, 'false');
create or replace function holdfast.heal(p_limit int) returns bigint language sql return 0;
