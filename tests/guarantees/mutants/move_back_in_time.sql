-- guard: a clock that is set back takes no job back in time
-- dies: tests/sql/test_rules.py::test_a_clock_that_steps_back_does_not_take_a_job_back_in_time
select pg_temp.without('holdfast.guard_move', $guard$new.updated_at := greatest(holdfast.clock(), old.updated_at);$guard$, $guard$new.updated_at := holdfast.clock();$guard$);
