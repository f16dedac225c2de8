-- guard: sums of other tenants are nobody's business
-- dies: tests/sql/test_tenancy.py::test_a_reader_sees_the_rows_of_whom_it_says_and_of_nobody_else
drop policy own_rows on holdfast.usage;
create policy own_rows on holdfast.usage for select to holdfast_api, holdfast_viewer using (true);
