-- guard: an alert of a tenant's failures counts its own
-- dies: tests/sql/test_alerts.py::test_a_rule_for_a_tenant_counts_its_jobs_and_is_over_when_none_of_them_failed
select pg_temp.without('holdfast.further_failures', 'p_rule.tenant is null and ');
