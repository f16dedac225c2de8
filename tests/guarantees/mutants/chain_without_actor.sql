-- guard: a changed actor is found: the chain covers who did it
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 who did it is rewritten]
select pg_temp.without('holdfast.said', $guard$|| p_actor)$guard$, $guard$|| '')$guard$);
select pg_temp.without('holdfast.said', $guard$length(p_actor)$guard$, $guard$0$guard$);
