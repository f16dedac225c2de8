-- guard: no more slots than the limit says
-- dies: tests/guarantees/test_limits.py::test_no_limit_is_exceeded_and_nobody_is_stranded_under_16_racing_claimers
-- strikes: 20
-- pace: slow
select pg_temp.without('holdfast.free_slot', $guard$v_taken < p_most$guard$, 'v_taken <= p_most');
select pg_temp.without('holdfast.free_slot', $guard$limit p_most) as f$guard$, 'limit p_most + 1) as f');
