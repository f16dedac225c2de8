-- guard: a suspect is taken alone
-- dies: tests/sql/test_claim.py::test_suspects_are_claimed_one_at_a_time
select pg_temp.without('holdfast.claim_suspect', 'limit 1', 'limit 2');
