-- guard: a reader sees rows of its own tenant only
-- dies: tests/sql/test_tenancy.py::test_a_reader_sees_the_rows_of_whom_it_says_and_of_nobody_else
alter table holdfast.job disable row level security;
