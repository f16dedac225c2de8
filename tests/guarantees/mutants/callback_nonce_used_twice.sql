-- guard: a callback counts once
-- dies: tests/sql/test_callback.py::test_the_same_callback_again_gets_the_same_answer_and_changes_nothing[heartbeat]
alter table holdfast.callback_nonce drop constraint callback_nonce_pkey;
select pg_temp.without('holdfast.callback', $guard$ and n.nonce = p_nonce$guard$, $guard$ and false$guard$);
