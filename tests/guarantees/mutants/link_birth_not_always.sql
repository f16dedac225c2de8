-- guard: link_birth also holds for a replica
-- dies: tests/sql/test_chain.py::test_a_replica_chains_births_and_moves_too
alter table holdfast.job enable trigger link_birth;
