-- guard: no login role writes a table
-- dies: tests/sql/test_rights.py::test_no_role_writes_or_changes_any_table
grant insert, update on holdfast.job to holdfast_api;
