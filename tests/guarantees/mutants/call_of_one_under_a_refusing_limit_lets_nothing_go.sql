-- guard: a call of one job with a key, under a limit that refuses, lets go and comes again too
-- dies: tests/sql/test_keys.py::test_a_call_with_a_key_under_a_refusing_limit_and_a_batch_do_not_deadlock
select pg_temp.without('holdfast.may_deadlock', $guard$ or t.options @? '$.limits[*] ? (@.policy == "reject")'$guard$);
