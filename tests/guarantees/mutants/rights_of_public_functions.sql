-- guard: nothing is executable by everybody
-- dies: tests/sql/test_rights.py::test_nothing_is_executable_by_public
grant execute on function holdfast.apply_retention to public;
