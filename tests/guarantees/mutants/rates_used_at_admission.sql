-- guard: a rate counts from the claim
-- dies: tests/guarantees/test_limits.py::test_no_window_has_more_starts_than_its_rate_under_16_racing_claimers
-- strikes: 60
select pg_temp.without('holdfast.release_slots', $guard$case when j.status = 'RUNNING' then j.updated_at else '-infinity' end$guard$, $guard$'-infinity'::timestamptz$guard$);
