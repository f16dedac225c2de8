-- guard: a job has one checkpoint, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[checkpoint_pkey]
alter table holdfast.checkpoint drop constraint checkpoint_pkey;
