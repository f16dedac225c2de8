-- guard: who is moved to a limited queue comes in through admission
-- dies: tests/sql/test_changes.py::test_a_limited_queue_takes_no_more_than_its_limit_from_those_that_are_moved_there
select pg_temp.without('holdfast.put_into_queue', 'perform holdfast.leave_line(p_job, null);', 'null;');
