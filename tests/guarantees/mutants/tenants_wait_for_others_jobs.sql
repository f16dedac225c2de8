-- guard: a bound caller waits for nobody when it is to run after another's job
-- dies: tests/sql/test_bounds.py::test_a_bound_caller_waits_for_nobody_when_it_is_to_run_after_anothers_job
select pg_temp.without('holdfast.join_parents', $guard$      join holdfast.job p on p.id = any (array[n.needs]) and holdfast.may_touch(p.tenant)$guard$, $guard$      join holdfast.job p on p.id = any (array[n.needs]) and true$guard$);
