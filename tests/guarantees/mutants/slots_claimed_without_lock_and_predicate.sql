-- guard: a claim of what has a slot locks its jobs or looks again
-- dies: tests/guarantees/test_claim.py::test_a_claim_waiting_for_another_does_not_take_the_same_job_again[by_slots]
select pg_temp.without('holdfast.claim_by_slots', $guard$for no key update of j skip locked$guard$);
select pg_temp.without('holdfast.claim_by_slots', $guard$
     and coalesce(j.claim_order, 'infinity') < 'infinity'
  returning$guard$, $guard$
  returning$guard$);
