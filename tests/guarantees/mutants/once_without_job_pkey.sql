-- guard: an id belongs to one job
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[job_pkey]
alter table holdfast.job drop constraint job_pkey;
