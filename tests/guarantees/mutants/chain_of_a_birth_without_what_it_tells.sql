-- guard: a birth links what it tells in its metadata
-- dies: tests/sql/test_chain.py::test_many_births_of_one_call_are_chained_each_with_what_it_tells
select pg_temp.without('holdfast.link_birth', $guard$holdfast.told_of_birth(new.retry_of, new.due_at, new.held_by)$guard$, $guard$null$guard$);
