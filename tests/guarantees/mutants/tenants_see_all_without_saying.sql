-- guard: who says no tenant sees nobody's rows
-- dies: tests/sql/test_tenancy.py::test_nothing_of_it_is_left_for_the_next_who_gets_the_connection
create or replace function holdfast.seen_tenant() returns text language sql stable parallel safe return coalesce(nullif(current_setting('holdfast.tenant', true), ''), '*');
