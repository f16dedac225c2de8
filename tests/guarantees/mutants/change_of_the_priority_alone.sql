-- guard: a job with another priority has another place in line
-- dies: tests/sql/test_changes.py::test_a_point_of_priority_is_36_seconds_in_line
select pg_temp.without('holdfast.put_at', ', claim_order = holdfast.place_in_line(holdfast.ready_since(j.claim_order, j.priority), p_priority)', '');
