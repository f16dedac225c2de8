-- guard: a job whose worker died runs again also where no retry is left
-- dies: tests/guarantees/test_crash.py::test_many_kills_lose_and_double_nothing
-- pace: slow
select pg_temp.without('holdfast.return_jobs', $guard$(j.suspect and h.alone and not h.said_goodbye and j.crash_count + 1 >= h.crash_cap) as condemned$guard$, $instead$(not h.said_goodbye and j.retry_count >= j.max_retries) as condemned$instead$);
