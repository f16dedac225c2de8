-- guard: a slot has one holder, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[slot_has_one_holder]
alter table holdfast.slot drop constraint slot_has_one_holder;
