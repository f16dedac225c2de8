-- guard: the slots of jobs are locked by way of these jobs alone
-- dies: tests/sql/test_bulk.py::test_a_change_reads_its_own_job_also_with_plans_from_when_there_were_few[cancel]
select pg_temp.without('holdfast.lock_jobs', 'and (select (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = s.job_id)', 'and exists (select from holdfast.job j where j.id = s.job_id and (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant))');
