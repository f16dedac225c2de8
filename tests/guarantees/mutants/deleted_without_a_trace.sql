-- guard: the audit keeps that a job was there and who deleted it
-- dies: tests/sql/test_changes.py::test_a_deleted_job_leaves_the_audit_and_nothing_else
select pg_temp.without('holdfast.take_away', '''job.delete''', '''job.forget''');
