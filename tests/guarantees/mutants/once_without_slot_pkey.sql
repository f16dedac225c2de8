-- guard: a job counts once towards a key, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[slot_pkey]
alter table holdfast.slot drop constraint slot_pkey;
