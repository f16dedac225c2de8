-- guard: of a report and a sweep at once one counts
-- dies: tests/sql/test_callback_races.py::test_of_a_report_and_a_sweep_that_finds_the_run_silent_exactly_one_counts
-- strikes: 1000
select pg_temp.without('holdfast.check_run', $guard$and holdfast.may_touch(j.tenant) for no key update skip locked$guard$, $guard$and holdfast.may_touch(j.tenant)$guard$);
select pg_temp.without('holdfast.check_run', $guard$where d.id = v_job.holder for no key update$guard$, $guard$where d.id = v_job.holder$guard$);
