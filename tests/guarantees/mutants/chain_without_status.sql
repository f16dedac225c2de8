-- guard: a changed status is found: the chain covers where each move led
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 a wait becomes a retry]
select pg_temp.without('holdfast.said', $guard$(p_to)::text$guard$, $guard$''::text$guard$);
