-- guard: claims do not wait for each other's turns
-- dies: tests/sql/test_fairness.py::test_a_claim_does_not_wait_for_another_that_has_not_committed
select pg_temp.without('holdfast.keep_turn', $guard$ skip locked$guard$, $guard$$guard$);
