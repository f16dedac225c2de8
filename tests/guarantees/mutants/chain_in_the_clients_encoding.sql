-- guard: a head is the same whatever encoding a client has set
-- dies: tests/sql/test_chain.py::test_a_head_is_the_same_whatever_a_session_has_set
select pg_temp.without('holdfast.said', $guard$'UTF8'::name$guard$, $guard$current_setting('client_encoding')::name$guard$);
