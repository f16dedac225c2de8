-- Webhooks in: the row that makes an event count once, and what was born with it.

-- The rest of the transaction acts for the endpoint, and reaches its tenant's rows only.
create or replace function holdfast.act_for_endpoint(p_endpoint text, p_tenant text) returns void
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select set_config('holdfast.actor', 'webhook:' || p_endpoint, true), set_config('holdfast.tenant', coalesce(p_tenant, '*'), true)
$$;

-- Takes an event whose effects follow in this transaction; null when it was taken before. Who brings the same event at the same
-- time waits here until the first has committed, or takes its place when it did not. What failed may be tried again.
create or replace function holdfast.begin_webhook(
  p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea) returns uuid
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_id uuid;
begin
  perform holdfast.act_for_endpoint(p_endpoint, p_tenant);
  insert into holdfast.webhook_delivery as d (id, endpoint, event_id, type, tenant, status, body, xid)
  values (p_id, p_endpoint, p_event_id, p_type, p_tenant, p_status, p_body, pg_current_xact_id()::text::bigint)
  on conflict on constraint webhook_event_is_handled_once do update
     set status = excluded.status, type = excluded.type, tenant = excluded.tenant, body = excluded.body, error = null,
         tries = d.tries + 1, ended_at = excluded.ended_at, xid = excluded.xid
   where d.status = 'failed'
  returning d.id into v_id;
  return v_id;
end $$;

-- The jobs that were born with a delivery, as far as they are still there. Those of its replays are written down; those of its
-- first handling are what its transaction made, on whosever behalf: an event costs no second write of its row. Another server counts
-- transactions anew, but not in the same minute.
create or replace function holdfast.jobs_of(p_delivery holdfast.webhook_delivery) returns uuid[]
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select p_delivery.jobs || array(
    select h.job_id
      from holdfast.job_history h
     where h.xid = p_delivery.xid and h.seq = 1
       and h.at >= p_delivery.ended_at and h.at < p_delivery.ended_at + interval '1 minute'
     order by h.job_id)
$$;

-- Writes down which jobs the transaction of a replay has made, and answers them.
create or replace function holdfast.end_replay(p_id uuid) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_jobs uuid[];
begin
  select array_agg(h.job_id order by h.job_id) into v_jobs
    from holdfast.job_history h
   where h.xid = pg_current_xact_id()::text::bigint and h.seq = 1;
  if v_jobs is not null then
    update holdfast.webhook_delivery d set jobs = d.jobs || v_jobs, xid = null where d.id = p_id;
  end if;
  perform set_config('holdfast.actor', '', true);
  return coalesce(v_jobs, '{}');
end $$;

-- Keeps an event whose handler failed, in a transaction of its own: an operator sees it, and the sender's next try may succeed.
create or replace function holdfast.fail_webhook(
  p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.webhook_delivery as d (id, endpoint, event_id, type, tenant, status, body, error)
  values (p_id, p_endpoint, p_event_id, p_type, p_tenant, 'failed', p_body, p_error)
  on conflict on constraint webhook_event_is_handled_once do update
     set error = excluded.error, tries = d.tries + 1, ended_at = excluded.ended_at
   where d.status = 'failed'   -- another of the same event may have succeeded meanwhile
$$;

-- Opens a delivery for an operator who wants its handler called again; one at a time.
create or replace function holdfast.begin_replay(p_id uuid, p_actor text) returns int
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_endpoint text;
  v_tenant text;
  v_replays int;
begin
  update holdfast.webhook_delivery d
     set status = 'handled', error = null, replays = d.replays + 1, replayed_by = p_actor, ended_at = holdfast.clock(),
         jobs = holdfast.jobs_of(d), xid = null
   where d.id = p_id and holdfast.may_touch(d.tenant)
  returning d.endpoint, d.tenant, d.replays into v_endpoint, v_tenant, v_replays;
  if found then
    perform holdfast.act_for_endpoint(v_endpoint, v_tenant);
  end if;
  return v_replays;
end $$;

-- What follows in this transaction is the application's own doing: as its login, whatever role a request's bounds have put on it.
create or replace function holdfast.leave() returns void
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select set_config('role', 'none', true)
$$;

-- Senders repeat for days (Stripe for three): an event is known for thirty.
create or replace function holdfast.forget_webhooks(p_limit int) returns bigint
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  with gone as (
    delete from holdfast.webhook_delivery d
     where d.id = any (array(
       select o.id
         from holdfast.webhook_delivery o
        where o.ended_at < holdfast.clock() - interval '30 days'
        order by o.ended_at
        limit p_limit))
    returning 1)
  select count(*) from gone
$$;
