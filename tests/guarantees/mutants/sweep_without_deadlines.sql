-- guard: an overdue attempt is ended
-- dies: tests/guarantees/test_deadline.py::test_a_task_that_hangs_its_loop_is_ended_by_another_workers_sweep
-- pace: slow
select pg_temp.without('holdfast.sweep', $guard$overdue := holdfast.end_overdue(p_limit)$guard$, $guard$overdue := 0$guard$);
