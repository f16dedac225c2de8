-- guard: an operation that cancels locks what is cancelled with its jobs before it touches one
-- dies: tests/sql/test_change_races.py::test_two_operations_that_cancel_what_hangs_on_each_others_jobs_do_not_deadlock
select pg_temp.without('holdfast.run_chunk', 'array(select m from holdfast.moved_with(v_chunk.jobs, v_operation.tenant) as m)', 'null');
