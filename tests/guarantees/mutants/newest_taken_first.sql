-- guard: jobs are taken in the order of the line
-- dies: tests/sql/test_claim.py::test_jobs_are_claimed_in_the_order_of_the_line
select pg_temp.without('holdfast.claim', $guard$order by j.claim_order, j.id$guard$, $instead$order by j.claim_order desc, j.id desc$instead$);
