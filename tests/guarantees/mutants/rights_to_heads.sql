-- guard: the head of a history is computed by its moves and the auditor alone
-- dies: tests/sql/test_rights.py::test_each_role_may_call_its_functions_and_no_others
grant execute on function holdfast.head_of to holdfast_api;
