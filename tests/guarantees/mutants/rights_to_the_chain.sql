-- guard: no login role writes a chain, or any other single column
-- dies: tests/sql/test_rights.py::test_no_role_writes_a_single_column_either
grant update (chain) on holdfast.job to holdfast_worker;
