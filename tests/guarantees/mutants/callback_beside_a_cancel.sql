-- guard: of a report and a cancel at once one counts
-- dies: tests/sql/test_callback_races.py::test_of_a_report_and_a_cancel_exactly_one_counts
-- strikes: 1000
select pg_temp.without('holdfast.callback', $guard$where j.id = p_job for no key update;$guard$, $instead$where j.id = p_job;$instead$);
