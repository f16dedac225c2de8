-- guard: a job is born at the time of the database's clock
-- dies: tests/sql/test_rules.py::test_a_job_is_not_born_at_another_time_than_now
select pg_temp.without('holdfast.record_births', $guard$or b.created_at not between holdfast.clock() - (clock_timestamp() - statement_timestamp()) and holdfast.clock()$guard$, '');
