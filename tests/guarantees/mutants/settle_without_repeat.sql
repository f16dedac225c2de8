-- guard: a repeated settlement is a success
-- dies: tests/guarantees/test_fence.py::test_a_repeated_settlement_by_the_same_attempt_is_a_success
select pg_temp.without('holdfast.settle', $guard$and h.actor = v_name$guard$, $guard$and false$guard$);
