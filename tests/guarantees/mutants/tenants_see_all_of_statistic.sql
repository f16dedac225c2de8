-- guard: statistics: sums over all tenants are nobody's who is bound to one
-- dies: tests/sql/test_tenancy.py::test_sums_over_all_tenants_are_hidden_from_who_is_bound_to_one
alter policy own_rows on holdfast.statistic using (true);
