-- guard: who ends what is overdue passes over what somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[end_overdue]
select pg_temp.without('holdfast.end_overdue', $guard$skip locked$guard$);
