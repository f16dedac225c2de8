-- guard: a login ends the session that the browser had
-- dies: tests/service/test_sessions.py::test_logging_in_ends_the_session_that_the_browser_had
select pg_temp.without('holdfast.begin_session', 'delete from holdfast.session s where s.digest = p_instead_of;');
