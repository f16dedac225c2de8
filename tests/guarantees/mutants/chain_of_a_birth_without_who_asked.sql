-- guard: a birth links who asked for it
-- dies: tests/sql/test_chain.py::test_many_births_of_one_call_are_chained_each_with_what_it_tells
select pg_temp.without('holdfast.link_birth', $guard$holdfast.made_by(new.retry_of, new.requested_by)$guard$, $guard$holdfast.actor()$guard$);
