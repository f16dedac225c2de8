-- guard: no reason and an empty one are not the same to the chain
-- dies: tests/sql/test_chain.py::test_words_that_stand_elsewhere_say_something_else
select pg_temp.without('holdfast.said', $guard$'-1'::integer$guard$, $guard$0$guard$);
