-- guard: a tenant reads events of its own jobs only
-- dies: tests/service/test_live.py::test_a_tenant_sees_its_own_jobs_on_a_subject_that_others_use_too
select pg_temp.without('holdfast.read_channels', ' and j.tenant = a.tenant');
