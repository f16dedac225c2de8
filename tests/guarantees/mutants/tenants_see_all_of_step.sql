-- guard: steps: a reader sees those of its own tenant only
-- dies: tests/sql/test_tenancy.py::test_a_reader_sees_the_rows_of_whom_it_says_and_of_nobody_else
alter policy own_rows on holdfast.step using (true);
