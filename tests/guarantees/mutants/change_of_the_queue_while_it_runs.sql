-- guard: what runs is not moved to another queue
-- dies: tests/sql/test_change_races.py::test_a_job_that_is_claimed_meanwhile_is_not_moved
select pg_temp.without('holdfast.why_unchanged', 'p_action = ''move'' and p_job.status = ''RUNNING''', 'false');
