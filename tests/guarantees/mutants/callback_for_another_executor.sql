-- guard: an executor speaks for its own runs only
-- dies: tests/sql/test_callback.py::test_another_executors_job_is_not_to_be_found
select pg_temp.without('holdfast.callback', $guard$ and d.executor = p_executor$guard$);
