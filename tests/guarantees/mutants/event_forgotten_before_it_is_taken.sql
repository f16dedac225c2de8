-- guard: an event is kept until the job that it woke has taken it
-- dies: tests/sql/test_upkeep.py::test_an_event_is_kept_until_the_job_that_it_woke_has_taken_it
select pg_temp.without('holdfast.keep_up', $guard$w.since <= e.emitted_at$guard$, $guard$false$guard$);
