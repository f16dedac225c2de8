-- guard: a move that a job made is counted in the queue it was in
-- dies: tests/sql/test_changes.py::test_counts_follow_a_job_through_its_queues_whenever_they_are_made[last]
select pg_temp.without('holdfast.project_slice', 'j.ties & 16 = 0', 'true');
