-- guard: a function with the owner's rights looks its names up where nobody else puts any
-- dies: tests/sql/test_rights.py::test_every_function_with_the_owners_rights_pins_its_search_path_with_the_temporary_schema_last
alter function holdfast.cancel reset search_path;
