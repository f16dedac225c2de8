-- guard: a sweep ends no overdue attempt that has ended meanwhile
-- dies: tests/guarantees/test_races.py::test_of_two_ends_of_an_attempt_exactly_one_counts_and_the_other_is_told
-- strikes: 1000
select pg_temp.without('holdfast.end_overdue', $guard$for no key update skip locked$guard$, '');
select pg_temp.without('holdfast.end_overdue', $guard$ and j.status = 'RUNNING' and j.claim_id = o.claim_id and j.deadline_at < v_now$guard$, '');
