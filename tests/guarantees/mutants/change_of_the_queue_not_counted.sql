-- guard: a job that is moved leaves the counts of its old queue
-- dies: tests/sql/test_changes.py::test_counts_follow_a_job_through_its_queues_whenever_they_are_made[each]
select pg_temp.without('holdfast.project_slice', 'h.kind = ''job.moved''', 'false');
