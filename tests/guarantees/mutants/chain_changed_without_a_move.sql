-- guard: a chain changes only with the status of its job
-- dies: tests/sql/test_rules.py::test_the_numbers_of_a_job_change_only_with_its_status
select pg_temp.without('holdfast.guard_stay', $guard$, new.chain)$guard$, $guard$)$guard$);
select pg_temp.without('holdfast.guard_stay', $guard$, old.chain)$guard$, $guard$)$guard$);
