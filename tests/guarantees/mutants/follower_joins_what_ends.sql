-- guard: a job that ends while it is followed starts its follower
-- dies: tests/sql/test_after.py::test_a_job_that_ends_while_it_is_followed_starts_its_follower[again]
select pg_temp.without('holdfast.join_parents', $guard$
       for no key update of p$guard$);
