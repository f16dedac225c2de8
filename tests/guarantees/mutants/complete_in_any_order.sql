-- guard: completions lock jobs in the order of their ids
-- dies: tests/sql/test_finish_races.py::test_two_that_end_the_same_attempts_in_opposite_orders_do_not_deadlock
-- strikes: 300
select pg_temp.without('holdfast.complete', $guard$ order by u.id) as o$guard$, $guard$) as o$guard$);
