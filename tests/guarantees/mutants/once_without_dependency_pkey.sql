-- guard: what a job needs counts once, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[dependency_pkey]
alter table holdfast.dependency drop constraint dependency_pkey;
