-- guard: a job waits for one thing at a time, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[wait_pkey]
alter table holdfast.wait drop constraint wait_pkey;
