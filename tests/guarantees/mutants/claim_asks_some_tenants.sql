-- guard: a claim asks every tenant before it says that there is nothing
-- dies: tests/sql/test_fairness.py::test_tenants_whose_jobs_are_for_other_workers_do_not_hide_ours
select pg_temp.without('holdfast.next_turns', $guard$case when p_is_dry then 1000000 else least(p_left, 256) + 1 end$guard$, $guard$least(p_left, 256) + 1$guard$);
select pg_temp.without('holdfast.claim', $guard$v_is_whole and (v_count$guard$, $guard$(v_count$guard$);
