-- guard: a plan fires only where it was made
-- dies: tests/sql/test_schedules.py::test_a_plan_that_is_repeated_after_a_lost_answer_fires_nothing_again
select pg_temp.without('holdfast.fire_schedule', $guard$ and s.settled_to = p_settled_to$guard$, $guard$$guard$);
