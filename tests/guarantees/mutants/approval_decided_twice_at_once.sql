-- guard: of two decisions at once one counts
-- dies: tests/sql/test_approval_races.py::test_of_an_approval_and_a_denial_at_once_exactly_one_counts
-- strikes: 1000
select pg_temp.without('holdfast.open_approval', $guard$ and holdfast.may_touch(j.tenant) for no key update$guard$, $guard$ and holdfast.may_touch(j.tenant)$guard$);
select pg_temp.without('holdfast.open_approval', $guard$where a.id = p_approval for no key update$guard$, $guard$where a.id = p_approval$guard$);
