-- guard: who takes jobs out of their parking place passes over those that somebody is at
-- dies: tests/sql/test_slots.py::test_who_takes_jobs_out_of_their_parking_place_passes_over_those_that_somebody_is_at
select pg_temp.without('holdfast.unpark', $guard$skip locked$guard$);
