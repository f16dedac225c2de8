-- guard: a token is used once
-- dies: tests/sql/test_approvals.py::test_a_token_is_used_once
select pg_temp.without('holdfast.token_holder', $guard$ and r.used_at is null$guard$);
