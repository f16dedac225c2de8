-- guard: another request under a key is refused
-- dies: tests/service/test_core.py::test_another_request_under_the_same_key_is_refused
select pg_temp.without('holdfast.begin_request', $guard$r.digest = p_digest$guard$, $guard$true$guard$);
