-- guard: who admits what is due passes over what somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[admit_due]
select pg_temp.without('holdfast.admit_due', $guard$skip locked$guard$);
