-- guard: of an event that comes ten times at once, to two servers, one is handled
-- dies: tests/service/test_webhooks.py::test_ten_of_one_event_at_once_through_two_servers_have_one_effect
-- It is looked up and then written: who comes later finds it, who comes at the same moment does not.
alter table holdfast.webhook_delivery drop constraint webhook_event_is_handled_once;
select pg_temp.without('holdfast.begin_webhook', $guard$values (p_id, p_endpoint, p_event_id, p_type, p_tenant, p_status, p_body, pg_current_xact_id()::text::bigint)$guard$, $instead$select p_id, p_endpoint, p_event_id, p_type, p_tenant, p_status, p_body, pg_current_xact_id()::text::bigint
   where not exists (select from holdfast.webhook_delivery o where o.endpoint = p_endpoint and o.event_id = p_event_id)$instead$);
select pg_temp.without('holdfast.begin_webhook', $guard$on conflict on constraint webhook_event_is_handled_once do update
     set status = excluded.status, type = excluded.type, tenant = excluded.tenant, body = excluded.body, error = null,
         tries = d.tries + 1, ended_at = excluded.ended_at, xid = excluded.xid
   where d.status = 'failed'$guard$, $instead$$instead$);
