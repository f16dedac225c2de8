-- guard: a call is taken by one of two workers that look at once
-- dies: tests/sql/test_dispatch.py::test_of_two_that_take_a_call_at_once_one_makes_it
select pg_temp.without('holdfast.take_dispatches', $guard$
       for no key update skip locked$guard$);
