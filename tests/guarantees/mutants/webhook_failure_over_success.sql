-- guard: a failure told late does not hide a success
-- dies: tests/service/test_webhooks.py::test_a_failure_told_late_does_not_hide_that_another_try_succeeded
select pg_temp.without('holdfast.fail_webhook', $guard$where d.status = 'failed'$guard$);
select pg_temp.without('holdfast.fail_webhook', 'set error = excluded.error', 'set status = excluded.status, error = excluded.error');
