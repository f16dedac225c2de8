-- guard: a part of an operation on many is there once, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[operation_chunk_pkey]
alter table holdfast.operation_chunk drop constraint operation_chunk_pkey;
