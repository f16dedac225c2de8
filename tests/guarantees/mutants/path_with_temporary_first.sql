-- guard: temporary names are looked up last
-- dies: tests/sql/test_rights.py::test_every_function_with_the_owners_rights_pins_its_search_path_with_the_temporary_schema_last
alter function holdfast.cancel set search_path = pg_temp, pg_catalog, holdfast;
