-- guard: nothing is readable by everybody
-- dies: tests/sql/test_rights.py::test_nothing_is_readable_by_public
grant select on holdfast.job to public;
