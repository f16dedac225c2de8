-- guard: a bound caller touches its own tenant only
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_steers_its_own_jobs_and_finds_no_others
create or replace function holdfast.may_touch(p_tenant text) returns boolean language sql stable parallel safe return true;
