-- guard: a bound caller learns nothing of what holds another's job back
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_learns_nothing_of_what_holds_anothers_job_back
select pg_temp.without('holdfast.hold_facts', $guard$   where j.id = p_job and holdfast.may_touch(j.tenant)$guard$, $guard$   where j.id = p_job and true$guard$);
