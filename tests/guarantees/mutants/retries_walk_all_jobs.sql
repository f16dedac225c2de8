-- guard: a retry follows its chain from job to job
-- dies: tests/sql/test_bulk.py::test_a_change_reads_its_own_job_also_with_plans_from_when_there_were_few[retry]
select pg_temp.without('holdfast.retry', 'cross join lateral (select j.retry_of from holdfast.job j where j.id = chain.id limit 1) as o', 'join holdfast.job o on o.id = chain.id');
