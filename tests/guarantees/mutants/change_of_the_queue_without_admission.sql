-- guard: a job that is moved to a limited queue is gated from then on
-- dies: tests/sql/test_changes.py::test_a_job_that_needs_another_is_let_go_in_its_new_queue
select pg_temp.without('holdfast.put_into_queue', 'j.ties | 16 | v_is_limited::int', 'j.ties | 16');
