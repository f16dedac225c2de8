-- guard: a history is bound to its job: those of two jobs cannot change places, heads and all
-- dies: tests/guarantees/test_audit.py::test_every_corruption_is_found[H07 two jobs change histories, and heads]
select pg_temp.without('holdfast.link_birth', $guard$uuid_send(new.id)$guard$, $guard$''::bytea$guard$);
select pg_temp.without('holdfast.try_to_enqueue', $guard$uuid_send(w.id)$guard$, $guard$''::bytea$guard$);
select pg_temp.without('holdfast.heads', $guard$uuid_send(v_row.job_id)$guard$, $guard$''::bytea$guard$);
