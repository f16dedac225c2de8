-- guard: a nonce is kept for longer than a signature is good
-- dies: tests/sql/test_callback.py::test_nonces_are_forgotten_long_after_their_signatures_have_expired
select pg_temp.without('holdfast.forget_nonces', $guard$interval '1 day'$guard$, $guard$interval '4 minutes'$guard$);
