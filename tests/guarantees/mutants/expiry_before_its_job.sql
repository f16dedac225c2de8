-- guard: the clock passes over a job that somebody is at
-- dies: tests/sql/test_approval_races.py::test_the_clock_passes_over_a_job_that_somebody_is_at
select pg_temp.without('holdfast.expire_approvals', $guard$perform from holdfast.job j where j.id = v_job for no key update skip locked;$guard$, $guard$perform;$guard$);
