-- guard: a claim locks its jobs or looks again
-- dies: tests/guarantees/test_claim.py::test_a_claim_waiting_for_another_does_not_take_the_same_job_again
select pg_temp.without('holdfast.claim', $guard$for no key update skip locked$guard$, $guard$$guard$);
select pg_temp.without('holdfast.claim', $guard$and coalesce(j.claim_order, 'infinity') < 'infinity'$guard$, $guard$$guard$);
