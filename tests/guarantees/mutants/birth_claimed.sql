-- guard: a job is born PENDING and unclaimed
-- dies: tests/sql/test_rules.py::test_a_job_is_born_pending_and_unclaimed
select pg_temp.without('holdfast.record_births', $guard$b.status <> 'PENDING' or b.attempt <> 0 or b.seq <> 1 or b.retry_count <> 0 or b.crash_count <> 0 or b.suspect$guard$, $guard$false$guard$);
