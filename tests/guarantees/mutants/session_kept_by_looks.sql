-- guard: only a request keeps a session alive
-- dies: tests/service/test_sessions.py::test_looking_again_at_a_stream_does_not_keep_a_session_alive
select pg_temp.without('holdfast.find_session', 'if p_is_request then', 'if true then');
