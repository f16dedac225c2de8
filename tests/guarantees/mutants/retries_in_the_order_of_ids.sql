-- guard: an operation that retries takes keys in the order in which all calls take them
-- dies: tests/sql/test_change_races.py::test_two_operations_that_retry_jobs_with_common_keys_do_not_deadlock
select pg_temp.without('holdfast.in_order_of_keys', 'j.tenant, j.task, j.key, ');
