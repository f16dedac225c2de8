-- guard: who removes what is old passes over what somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[apply_retention]
select pg_temp.without('holdfast.apply_retention', $guard$skip locked$guard$);
