-- guard: a released suspect stays a suspect
-- dies: tests/guarantees/test_fence.py::test_a_released_suspect_stays_a_suspect
select pg_temp.without('holdfast.settle', $guard$ or (m.outcome = 'released' and j.suspect)$guard$, $guard$$guard$);
