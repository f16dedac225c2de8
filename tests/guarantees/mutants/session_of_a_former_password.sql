-- guard: a password that changed while it was looked at lets nobody in
-- dies: tests/service/test_sessions.py::test_a_password_that_changed_while_it_was_looked_at_lets_nobody_in
select pg_temp.without('holdfast.begin_session', ' and p.password = p_password');
