-- guard: who changes a job waits for who is at it
-- dies: tests/sql/test_change_races.py::test_a_job_that_is_claimed_meanwhile_is_not_moved
select pg_temp.without('holdfast.lock_job', $guard$ for no key update$guard$, '');
