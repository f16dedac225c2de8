-- guard: a call of one job that replaces another, or runs after others, lets go and comes again too
-- dies: tests/sql/test_keys.py::test_a_call_that_replaces_a_job_and_one_that_is_after_it_do_not_deadlock_over_its_key
select pg_temp.without('holdfast.may_deadlock', $guard$p_jobs @? '$[*] ? (@.on_conflict == "replace" || exists(@.after[*]))'$guard$, 'false');
