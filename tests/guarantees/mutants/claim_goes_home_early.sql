-- guard: a claim that finds all of some tenants' jobs taken asks the others
-- dies: tests/sql/test_fairness.py::test_16_claimers_take_every_job_once_and_none_goes_home_while_there_is_work
select pg_temp.without('holdfast.claim', $guard$v_is_whole and (v_count = 0 or not v_has_tenants)$guard$, $instead$v_count = 0 or not v_has_tenants$instead$);
