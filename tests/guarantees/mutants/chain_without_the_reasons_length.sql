-- guard: the chain covers where a reason ends and what comes behind begins
-- dies: tests/sql/test_chain.py::test_words_that_stand_elsewhere_say_something_else
select pg_temp.without('holdfast.said', $guard$int4send(COALESCE(length(p_reason), '-1'::integer))$guard$, $guard$int4send(0)$guard$);
