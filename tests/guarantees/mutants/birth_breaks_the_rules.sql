-- guard: a job is not born with what it must not have
-- dies: tests/sql/test_rules.py::test_a_job_is_not_born_with_what_it_must_not_have
select pg_temp.without('holdfast.record_births', $guard$where r.rule is not null$guard$, $guard$where false$guard$);
