-- guard: the rules between a job's columns hold for every update
-- dies: tests/sql/test_rules.py::test_a_row_that_contradicts_its_status_is_refused
select pg_temp.without('holdfast.record_moves', $guard$where r.rule is not null;$guard$, $guard$where false;$guard$);
