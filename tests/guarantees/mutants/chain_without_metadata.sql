-- guard: changed metadata are found: the chain covers what else a move tells
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 metadata is made up]
select pg_temp.without('holdfast.said', $guard$COALESCE((p_metadata)::text, ''::text)$guard$, $guard$''::text$guard$);
