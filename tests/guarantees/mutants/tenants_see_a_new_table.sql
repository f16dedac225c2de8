-- guard: a table that is added is bound to tenants, or said to have nothing of theirs
-- dies: tests/sql/test_tenancy.py::test_every_table_is_bound_to_tenants_or_has_nothing_of_theirs
create table holdfast.note_of_a_job (job_id uuid, tenant text, text text);
