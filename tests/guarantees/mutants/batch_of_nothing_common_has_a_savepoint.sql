-- guard: what cannot deadlock takes no savepoint for it
-- dies: tests/sql/test_enqueue.py::test_jobs_without_keys_take_no_savepoints_that_they_do_not_need
select pg_temp.without('holdfast.enqueue_many', 'if not holdfast.may_deadlock(v_jobs) then', 'if false then');
