-- guard: a step that a killed attempt has saved is not run by the next
-- dies: tests/guarantees/test_steps.py::test_a_stepped_job_resumes_at_its_step_wherever_its_worker_is_killed
-- pace: slow
select pg_temp.without('holdfast.saved_steps', $guard$where s.job_id = p_job$guard$, $instead$where s.job_id = p_job and s.kind <> 'step'$instead$);
