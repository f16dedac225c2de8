-- guard: a claim whose answer was lost is recovered
-- dies: tests/guarantees/test_lost_answers.py::test_a_hosts_claim_whose_answer_is_lost_is_recovered[cut_after]
-- pace: core
select pg_temp.without('holdfast.recover_claim', $guard$j.claim_id = p_claim_id$guard$, $guard$false$guard$);
