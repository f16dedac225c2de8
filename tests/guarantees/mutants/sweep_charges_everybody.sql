-- guard: only crashes suffered alone count
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_not_charged_for_a_death_that_others_may_have_caused
-- pace: core
select pg_temp.without('holdfast.return_jobs', $guard$ and h.alone$guard$, $guard$$guard$);
