-- guard: a cancel waits for nobody who waits for its job no more
-- dies: tests/sql/test_waiting.py::test_a_cancel_waits_for_nobody_who_waits_for_its_job_no_more
select pg_temp.without('holdfast.moved_with', ' and d.position <> 0');
