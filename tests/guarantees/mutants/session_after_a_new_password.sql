-- guard: whoever knew a former password is out
-- dies: tests/service/test_sessions.py::test_disabled_people_and_those_with_a_new_password_are_out_at_once
select pg_temp.without('holdfast.set_password', 'delete from holdfast.session s where s.person = p_name;');
