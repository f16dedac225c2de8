-- guard: a head is the same whatever time zone a session has set
-- dies: tests/sql/test_chain.py::test_a_head_is_the_same_whatever_a_session_has_set
select pg_temp.without('holdfast.said', $guard$timestamptz_send(p_at)$guard$, $guard$convert_to(p_at::text, 'UTF8')$guard$);
