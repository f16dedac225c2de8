-- guard: a failure waits for nobody who is at a child, which goes on
-- dies: tests/sql/test_waiting.py::test_a_failure_waits_for_nobody_who_is_at_a_child_that_goes_on[a follower]
select pg_temp.without('holdfast.moved_with', 'and (select p.status <> ''FAILED'' from holdfast.job p where p.id = x.id)');
