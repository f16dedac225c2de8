-- guard: a session ends after twelve hours
-- dies: tests/service/test_sessions.py::test_half_an_hour_of_silence_ends_a_session_and_twelve_hours_do_anyway
select pg_temp.without('holdfast.session_counts', $guard$ and p_session.begun_at > holdfast.clock() - interval '12 hours'$guard$);
