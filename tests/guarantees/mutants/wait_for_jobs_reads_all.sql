-- guard: a wait for jobs planned for a small table does not read all of a large one
-- dies: tests/sql/test_waiting.py::test_a_wait_for_jobs_planned_for_a_small_table_does_not_read_all_of_a_large_one
select pg_temp.without('holdfast.wait_for_jobs', ' SET enable_seqscan TO ''off''');
