-- guard: a step of a job is written once
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[step_pkey]
alter table holdfast.step drop constraint step_pkey;
