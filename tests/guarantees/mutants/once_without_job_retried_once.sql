-- guard: a job is retried once, whoever writes
-- dies: tests/sql/test_rules.py::test_what_there_is_once_is_there_once_whoever_writes[job_retried_once]
drop index holdfast.job_retried_once;
