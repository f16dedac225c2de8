-- guard: nothing is parked behind slots that may become free
-- dies: tests/guarantees/test_limits.py::test_nothing_is_parked_behind_a_job_that_is_ending
-- pace: slow
select pg_temp.without('holdfast.free_slot', $guard$for key share skip locked$guard$, '');
