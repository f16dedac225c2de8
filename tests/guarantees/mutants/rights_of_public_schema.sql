-- guard: nobody without a role gets as far as the schema
-- dies: tests/sql/test_rights.py::test_nobody_without_a_role_gets_as_far_as_the_schema
grant usage on schema holdfast to public;
