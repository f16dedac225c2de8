-- guard: wrong tokens are limited
-- dies: tests/sql/test_approvals.py::test_after_five_wrong_tries_in_a_minute_not_even_the_right_token_is_looked_at
select pg_temp.without('holdfast.token_holder', $guard$cardinality(p_gate.wrong_tries) >= 5$guard$, 'false');
