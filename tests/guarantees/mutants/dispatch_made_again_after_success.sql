-- guard: a call that succeeded is not made again
-- dies: tests/sql/test_dispatch.py::test_a_call_that_succeeded_late_counts_and_is_not_made_again
select pg_temp.without('holdfast.dispatch_sent', $guard$case when d.state = 'over' then d.next_try_at end$guard$, $guard$d.next_try_at$guard$);
