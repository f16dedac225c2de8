-- guard: a call that enqueues many leaves it to link_birth to link who asked
-- dies: tests/sql/test_chain.py::test_many_births_of_one_call_are_chained_each_with_what_it_tells
select pg_temp.without('holdfast.try_to_enqueue', $guard$w.requested_by is null and $guard$, $guard$$guard$);
