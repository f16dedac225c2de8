-- guard: children are kept while what undoes their parent may run
-- dies: tests/sql/test_upkeep.py::test_retention_keeps_what_a_compensation_that_can_be_retried_finds_again[child]
select pg_temp.without('holdfast.is_needed', $guard$holdfast.is_to_be_undone(p.id)$guard$, $guard$false$guard$);
