-- guard: each role may call its functions and no others
-- dies: tests/sql/test_rights.py::test_each_role_may_call_its_functions_and_no_others
grant execute on function holdfast.claim to holdfast_producer;
