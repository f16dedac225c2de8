-- guard: another body under the same nonce is refused
-- dies: tests/sql/test_callback.py::test_another_body_under_the_same_nonce_is_refused
select pg_temp.without('holdfast.callback', $guard$case when v_kept.body_hash = p_body_hash then v_kept.answer else 'nonce_reused' end$guard$, $guard$v_kept.answer$guard$);
