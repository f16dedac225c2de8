-- guard: the rules between a job's columns hold for a replica too
-- dies: tests/sql/test_rules.py::test_a_replica_may_not_write_a_wrong_row_either
select pg_temp.without('holdfast.record_moves', $guard$where r.rule is not null;$guard$, $instead$where r.rule is not null and current_setting('session_replication_role') <> 'replica';$instead$);
