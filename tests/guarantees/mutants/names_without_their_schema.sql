-- guard: functions write their own tables, whatever stands before them in a session
-- dies: tests/sql/test_rights.py::test_temporary_names_change_nothing
select pg_temp.without('holdfast.complete', $guard$update holdfast.job j$guard$, $instead$update job j$instead$);
alter function holdfast.complete set search_path = pg_temp, pg_catalog, holdfast;
