-- guard: a function that the owner adds is not executable by everybody
-- dies: tests/sql/test_rights.py::test_a_function_that_the_owner_adds_is_not_executable_by_public
alter default privileges for role holdfast_owner grant execute on functions to public;
