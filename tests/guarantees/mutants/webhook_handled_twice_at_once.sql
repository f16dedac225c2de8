-- guard: of an event that comes ten times at once one is handled
-- dies: tests/service/test_webhooks.py::test_a_repeat_is_answered_200_and_does_nothing
alter table holdfast.webhook_delivery drop constraint webhook_event_is_handled_once;
select pg_temp.without('holdfast.begin_webhook', $guard$on conflict on constraint webhook_event_is_handled_once do update
     set status = excluded.status, type = excluded.type, tenant = excluded.tenant, body = excluded.body, error = null,
         tries = d.tries + 1, ended_at = excluded.ended_at, xid = excluded.xid
   where d.status = 'failed'$guard$, '');
