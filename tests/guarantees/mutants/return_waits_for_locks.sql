-- guard: who takes jobs back from the dead passes over those that somebody is at
-- dies: tests/sql/test_passing_over.py::test_nobody_waits_for_what_somebody_is_at[return_jobs]
select pg_temp.without('holdfast.return_jobs', $guard$skip locked$guard$);
