-- guard: an undecided job is not claimable
-- dies: tests/sql/test_approvals.py::test_an_undecided_job_cannot_be_made_claimable_by_hand
select pg_temp.without('holdfast.unapproved', $guard$where not exists$guard$, 'where false and not exists');
