-- guard: a suspect is taken by one
-- dies: tests/sql/test_finish_races.py::test_a_suspect_is_taken_by_one
-- strikes: 300
select pg_temp.without('holdfast.claim_suspect', $guard$for no key update skip locked$guard$, '');
select pg_temp.without('holdfast.claim_suspect', $guard$
     and coalesce(j.claim_order, 'infinity') < 'infinity'$guard$, '');
