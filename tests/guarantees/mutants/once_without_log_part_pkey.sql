-- guard: a part of an attempt's log is kept once, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[log_part_pkey]
alter table holdfast.log_part drop constraint log_part_pkey;
