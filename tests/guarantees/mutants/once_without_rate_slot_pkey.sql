-- guard: a start of a rate is taken by one job
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[rate_slot_pkey]
alter table holdfast.rate_slot drop constraint rate_slot_pkey;
