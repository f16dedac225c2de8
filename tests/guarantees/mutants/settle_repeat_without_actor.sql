-- guard: only the attempt itself has recorded it before
-- dies: tests/guarantees/test_fence.py::test_a_stale_settlement_is_refused
select pg_temp.without('holdfast.settle', $guard$and h.actor = v_name
$guard$, $guard$
$guard$);
select pg_temp.without('holdfast.settle', $guard$and h.reason is not distinct from o.reason$guard$, $guard$$guard$);
