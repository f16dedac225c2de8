-- guard: what a killed attempt has undone is not undone again by the next
-- dies: tests/guarantees/test_steps.py::test_a_compensation_resumes_where_its_worker_is_killed
-- pace: slow
select pg_temp.without('holdfast.saved_steps', $guard$where s.job_id = p_job$guard$, $instead$where s.job_id = p_job and s.kind <> 'undo'$instead$);
