-- guard: a wait for jobs holds them while it looks
-- dies: tests/guarantees/test_races.py::test_a_job_that_ends_and_a_wait_for_it_never_miss_each_other
-- strikes: 1000
select pg_temp.without('holdfast.wait_for_jobs', $guard$ order by j.status = 'RUNNING' desc, j.id for no key update) as l$guard$, $guard$) as l$guard$);
