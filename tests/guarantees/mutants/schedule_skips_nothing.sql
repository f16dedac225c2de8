-- guard: the policy skip lets missed times go
-- dies: tests/runtime/test_schedules.py::test_what_was_missed_while_no_worker_was_there_follows_the_policy
-- pace: slow
select pg_temp.without('holdfast.fire_slot', $guard$p_schedule.missed = 'skip'$guard$, $guard$false$guard$);
