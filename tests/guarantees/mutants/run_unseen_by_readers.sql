-- guard: whoever looks at a job finds that its run fell silent
-- dies: tests/sql/test_callback.py::test_whoever_looks_at_a_job_finds_that_its_run_fell_silent[newest]
select pg_temp.without('holdfast.job_outcome', $guard$if v_fault and holdfast.check_run(p_id) then$guard$, $guard$if false then$guard$);
