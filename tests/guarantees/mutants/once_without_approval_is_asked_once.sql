-- guard: a job asks a question once
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[approval_is_asked_once]
alter table holdfast.approval drop constraint approval_is_asked_once;
