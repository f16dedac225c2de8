-- guard: digests are for nobody
-- dies: tests/sql/test_rights.py::test_each_role_may_read_its_tables_and_no_others
grant select on holdfast.approver to holdfast_api;
