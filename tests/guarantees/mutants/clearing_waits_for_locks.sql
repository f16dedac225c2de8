-- guard: who clears a line passes over what somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[clear_line]
select pg_temp.without('holdfast.clear_line', $guard$skip locked$guard$);
