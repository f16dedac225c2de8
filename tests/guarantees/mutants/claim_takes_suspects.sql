-- guard: a suspect is not given to an ordinary claim
-- dies: tests/guarantees/test_fence.py::test_a_suspect_is_not_given_to_an_ordinary_claim
-- Its index is for jobs that are no suspects, so the scan needs another one.
set local session_replication_role = origin;
select pg_temp.without('holdfast.claim', $guard$ and not j.suspect$guard$, $guard$$guard$);
