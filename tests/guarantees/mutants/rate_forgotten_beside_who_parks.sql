-- guard: who finds nobody waiting for a rate has locked its next time
-- dies: tests/sql/test_rates.py::test_who_parks_under_a_rate_is_not_forgotten_by_who_finds_nobody_there
select pg_temp.without('holdfast.admit_rated', $guard$ for update skip locked$guard$);
