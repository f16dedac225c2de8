-- guard: an event that was handled is not handled again
-- dies: tests/service/test_webhooks.py::test_a_repeat_is_answered_200_and_does_nothing
select pg_temp.without('holdfast.begin_webhook', $guard$where d.status = 'failed'$guard$);
