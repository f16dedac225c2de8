-- guard: an attempt has one row
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[attempt_pkey]
alter table holdfast.attempt drop constraint attempt_pkey;
