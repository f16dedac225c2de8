-- guard: of two reports at once one counts
-- dies: tests/sql/test_callback_races.py::test_of_two_reports_exactly_one_counts
-- strikes: 1000
select pg_temp.without('holdfast.callback', $guard$where j.id = p_job for no key update;$guard$, $guard$where j.id = p_job;$guard$);
select pg_temp.without('holdfast.callback', $guard$
     for no key update;$guard$, $guard$;$guard$);
