-- guard: tries at once are as many tries
-- dies: tests/service/test_sessions.py::test_a_try_waits_for_one_that_is_being_taken
select pg_temp.without('holdfast.take_tries', 'do update set empty_at = t.empty_at', 'do nothing');
