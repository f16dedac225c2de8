-- guard: an event is known for thirty days
-- dies: tests/service/test_webhooks.py::test_deliveries_are_known_for_thirty_days
select pg_temp.without('holdfast.forget_webhooks', $guard$'30 days'$guard$, $guard$'3 days'$guard$);
