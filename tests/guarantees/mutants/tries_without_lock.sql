-- guard: tries at once are as many tries
-- dies: tests/service/test_sessions.py::test_tries_at_once_are_as_many_tries
select pg_temp.without('holdfast.take_tries', 'do update set empty_at = t.empty_at', 'do nothing');
