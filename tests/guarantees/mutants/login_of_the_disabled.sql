-- guard: whoever is disabled does not get in
-- dies: tests/service/test_sessions.py::test_a_stranger_a_disabled_person_and_a_wrong_password_get_the_same_answer
select pg_temp.without('holdfast.begin_session', ' and p.disabled_at is null');
