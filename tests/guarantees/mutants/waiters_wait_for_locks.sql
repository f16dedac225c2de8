-- guard: who lets waiters in passes over those that somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[admit_waiters]
select pg_temp.without('holdfast.admit_waiters', $guard$skip locked$guard$);
