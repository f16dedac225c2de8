-- guard: who counts what runs passes over what somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[count_running]
select pg_temp.without('holdfast.count_running', $guard$skip locked$guard$);
