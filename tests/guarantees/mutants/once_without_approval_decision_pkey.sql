-- guard: a person says the same of an approval once, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[approval_decision_pkey]
alter table holdfast.approval_decision drop constraint approval_decision_pkey;
