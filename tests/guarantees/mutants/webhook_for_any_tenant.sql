-- guard: the transaction of an endpoint's handler is limited to the endpoint's tenant
-- dies: tests/service/test_webhooks.py::test_a_handlers_transaction_reaches_its_endpoints_tenant[acme-acme]
select pg_temp.without('holdfast.act_for_endpoint', 'coalesce(p_tenant, ''*'')', '''*''');
