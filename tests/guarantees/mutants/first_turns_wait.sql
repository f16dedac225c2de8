-- guard: of two first claims one writes the turn and the other does not wait
-- dies: tests/sql/test_fairness.py::test_a_claim_does_not_wait_for_another_that_has_not_committed
create or replace function holdfast.is_first(p_what text) returns boolean language sql volatile return true;
