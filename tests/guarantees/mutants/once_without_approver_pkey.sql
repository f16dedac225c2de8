-- guard: an approver has one token of an approval, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[approver_pkey]
alter table holdfast.approver drop constraint approver_pkey;
