-- guard: an operation of a tenant touches that tenant's jobs only
-- dies: tests/service/test_bulk.py::test_a_chunk_of_another_tenants_jobs_is_skipped_whole
select pg_temp.without('holdfast.operate', '(p_operation.tenant is null or j.tenant = p_operation.tenant)', 'true');
