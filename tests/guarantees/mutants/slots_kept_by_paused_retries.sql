-- guard: a retry that is paused gives back the slots that a job which waits does not keep
-- dies: tests/sql/test_switches.py::test_a_retry_that_is_kept_back_gives_its_slot_of_a_limited_queue_to_others
select pg_temp.without('holdfast.leave_line', $guard$select l.key from holdfast.limits_of(p_job) as l where l.release_while_waiting$guard$, 'select null');
