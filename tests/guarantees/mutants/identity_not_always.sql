-- guard: what a job is does not change for a replica either
-- dies: tests/sql/test_rules.py::test_the_payload_does_not_change_for_a_replica_either
alter table holdfast.job enable trigger identity_is_immutable;
