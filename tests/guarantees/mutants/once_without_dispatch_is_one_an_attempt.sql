-- guard: an attempt is handed over once
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[dispatch_is_one_an_attempt]
alter table holdfast.dispatch drop constraint dispatch_is_one_an_attempt;
