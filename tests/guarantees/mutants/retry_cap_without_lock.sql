-- guard: two retries at once do not both take the last place under a cap
-- dies: tests/sql/test_finish_races.py::test_retries_at_once_stay_within_the_cap_of_their_subject
-- strikes: 300
select pg_temp.without('holdfast.retry', $guard$perform pg_advisory_xact_lock(hashtextextended('holdfast:retry:' || coalesce(v_old.tenant, '') || ':' || v_old.subject, 0));$guard$, '');
