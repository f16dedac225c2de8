-- guard: a suspect is not given to an ordinary claim
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_not_given_to_an_ordinary_claim
select pg_temp.without('holdfast.claim', $guard$ and not j.suspect$guard$, $guard$$guard$);
