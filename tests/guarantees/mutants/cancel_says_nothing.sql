-- guard: a cancel tells whoever runs the job
-- dies: tests/guarantees/test_cancel.py::test_an_async_task_is_cancelled_by_a_notification
-- pace: slow
select pg_temp.without('holdfast.cancel', $guard$perform pg_notify('holdfast_cancel', p_id::text)$guard$, $guard$perform 1$guard$);
