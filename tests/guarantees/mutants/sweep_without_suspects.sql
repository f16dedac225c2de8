-- guard: a dead worker's jobs become suspects
-- dies: tests/guarantees/test_fence.py::test_only_a_crash_suffered_alone_is_counted
select pg_temp.without('holdfast.return_jobs', $guard$suspect = not g.condemned and (j.suspect or not g.said_goodbye)$guard$, $guard$suspect = j.suspect$guard$);
