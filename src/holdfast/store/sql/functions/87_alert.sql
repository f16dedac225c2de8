-- Alerts: opened once however many find the cause, closed when it is gone, and told through an outbox that commits with what it tells of.
-- Alerts are locked after jobs and approvals, everywhere, and in the order of their rules and what they are about.

-- Holdfast's own tasks, which no rule watches: a channel that fails must not be told of through itself.
create or replace function holdfast.is_own_task(p_task text) returns boolean
language sql immutable parallel safe
return starts_with(p_task, 'holdfast.');

create or replace function holdfast.in_words(p_span interval) returns text
language sql immutable parallel safe
return (select case when n = 1 then '1 ' || unit else n || ' ' || unit || 's' end
          from (select round(extract(epoch from p_span)) as s) as t
         cross join lateral (select case when s % 86400 = 0 then s / 86400 when s % 3600 = 0 then s / 3600 when s % 60 = 0 then s / 60 else s end::bigint as n,
                                    case when s % 86400 = 0 then 'day' when s % 3600 = 0 then 'hour' when s % 60 = 0 then 'minute' else 'second' end as unit) as w);

-- -- what code declares -----------------------------------------------------------------------------------------------------

-- A worker says which channels and rules its app has; what the same app no longer has is forgotten. Whoever starts last decides,
-- and an operator's mute is not touched. Answers the names that it took over from another app.
create or replace function holdfast.register_alerts(p_app text, p_channels jsonb, p_rules jsonb) returns table (taken text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
begin
  -- Most apps have neither, and write nothing.
  if p_channels = '[]' and p_rules = '[]'
     and not exists (select from holdfast.alert_channel c where c.app = p_app) and not exists (select from holdfast.alert_rule r where r.app = p_app) then
    return;
  end if;
  perform from holdfast.alert_watch w for update;   -- one at a time: workers start together
  return query
  select c.name::text from holdfast.alert_channel c join jsonb_to_recordset(p_channels) as d (name text) on d.name = c.name where c.app <> p_app
  union
  select r.name::text from holdfast.alert_rule r join jsonb_to_recordset(p_rules) as d (name text) on d.name = r.name where r.app <> p_app;
  delete from holdfast.alert_channel c where c.app = p_app and not exists (select from jsonb_to_recordset(p_channels) as d (name text) where d.name = c.name);
  delete from holdfast.alert_rule r where r.app = p_app and not exists (select from jsonb_to_recordset(p_rules) as d (name text) where d.name = r.name);
  insert into holdfast.alert_channel (name, kind, app, registered_at)
  select d.name, d.kind, p_app, v_now from jsonb_to_recordset(p_channels) as d (name text, kind text)
  on conflict (name) do update set kind = excluded.kind, app = excluded.app, registered_at = excluded.registered_at;
  insert into holdfast.alert_rule (name, kind, task, queue, tenant, threshold, period, least, severity, channels, app, registered_at)
  select d.name, d.kind, d.task, d.queue, d.tenant, d.threshold, make_interval(secs => d.period), coalesce(d.least, 1), d.severity,
         array(select jsonb_array_elements_text(d.channels)), p_app, v_now
    from jsonb_to_recordset(p_rules) as d (name text, kind text, task text, queue text, tenant text, threshold float8, period float8, least bigint,
         severity text, channels jsonb)
  on conflict (name) do update
     set kind = excluded.kind, task = excluded.task, queue = excluded.queue, tenant = excluded.tenant, threshold = excluded.threshold,
         period = excluded.period, least = excluded.least, severity = excluded.severity, channels = excluded.channels, app = excluded.app,
         registered_at = excluded.registered_at;
end $$;

create or replace function holdfast.mute_rule(p_rule text, p_muted boolean) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('an alert''s rule');
  update holdfast.alert_rule r set enabled = not p_muted where r.name = p_rule;
  return found;
end $$;

-- -- the outbox -------------------------------------------------------------------------------------------------------------

-- Writes one message down together with the job that delivers it.
create or replace function holdfast.put_notification(
  p_id uuid, p_kind text, p_channel text, p_recipient text, p_alert uuid, p_approval uuid, p_subject text, p_body text, p_priority int) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job uuid := holdfast.new_id();
  v_tenant text := current_setting('holdfast.tenant', true);
begin
  insert into holdfast.notification (id, kind, channel, recipient, alert_id, approval_id, subject, body, priority, job_id, created_at)
  values (p_id, p_kind, p_channel, p_recipient, p_alert, p_approval, p_subject, p_body, p_priority, v_job, holdfast.clock())
  on conflict (id) do nothing;   -- the answer to the first call was lost
  if found then
    -- The message is ours, whoever's deed it tells of.
    perform set_config('holdfast.tenant', '', true);
    perform holdfast.enqueue_many(jsonb_build_array(jsonb_build_object('id', v_job, 'task', 'holdfast.notify.' || p_channel,
              'payload', jsonb_build_object('notification', p_id), 'priority', p_priority, 'requested_by', 'holdfast')));
    perform set_config('holdfast.tenant', coalesce(v_tenant, ''), true);
  end if;
end $$;

-- The application's own messages, in its own transaction. p_messages is an array of {"id", "channel", "recipient", "subject", "body", "priority"}.
create or replace function holdfast.notify(p_messages jsonb, p_declared jsonb default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_message record;
begin
  perform holdfast.require_unbound('a message');
  if p_declared is not null then
    perform holdfast.declare_tasks(p_declared);
  end if;
  for v_message in
    select * from jsonb_to_recordset(p_messages) as m (id uuid, channel text, recipient text, subject text, body text, priority int)
  loop
    if not exists (select from holdfast.task t where t.name = 'holdfast.notify.' || v_message.channel) then
      raise exception 'no channel is called %', quote_nullable(v_message.channel)
        using errcode = 'HF005', hint = 'Declare it with app.alerts.to(…) and start a worker of that app. Nothing was sent.';
    end if;
    perform holdfast.put_notification(coalesce(v_message.id, holdfast.new_id()), 'message', v_message.channel, v_message.recipient, null, null,
              v_message.subject, v_message.body, coalesce(v_message.priority, 0));
  end loop;
end $$;

-- One message for every channel of the alert's rule that somebody can deliver to.
create or replace function holdfast.tell_of_alert(p_alert uuid, p_kind text) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.put_notification(holdfast.new_id(), p_kind, c.name, null, a.id, null, null, null,
           case a.severity when 'critical' then 50 when 'warning' then 20 else 0 end)
    from holdfast.alert a
    join holdfast.alert_rule r on r.name = a.rule
    join holdfast.alert_channel c on c.name = any (r.channels)
    join holdfast.task t on t.name = 'holdfast.notify.' || c.name
   where a.id = p_alert and r.enabled
   order by c.name
$$;

-- Whether a name is an address: no more than what every mail server takes, and nothing that could begin another header.
create or replace function holdfast.is_address(p_name text) returns boolean
language sql immutable parallel safe
return length(p_name) <= 254 and p_name ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$';

-- Whoever is asked and has an address is told, in the transaction that asks. The first e-mail channel by name delivers.
create or replace function holdfast.tell_approvers() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.put_notification(holdfast.new_id(), 'approval', c.name, p.name, null, new.id, null, null, 20)
     from (select c.name
             from holdfast.alert_channel c
             join holdfast.task t on t.name = 'holdfast.notify.' || c.name
            where c.kind = 'email'
            order by c.name
            limit 1) as c
    cross join unnest(new.approvers) as p (name)
    where holdfast.is_address(p.name)
      and (new.self_approval or holdfast.person(p.name) is distinct from holdfast.person(new.requester));   -- the requester does not decide
  return null;
end $$;
create or replace trigger approvers_are_told after insert on holdfast.approval
  for each row execute function holdfast.tell_approvers();
alter table holdfast.approval enable always trigger approvers_are_told;

-- What to send, or null when there is nothing to send any more. An approver's token is minted here, with every delivery anew, and only
-- its hash comes: the approval's job is locked before the delivering one, whose id is greater.
create or replace function holdfast.begin_delivery(p_job uuid, p_attempt int, p_claim_id uuid, p_notification uuid, p_token_hash bytea) returns text
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_note holdfast.notification;
  v_asked jsonb;
  v_closed boolean := false;
begin
  select * into v_note from holdfast.notification n where n.id = p_notification;
  if v_note.kind = 'approval' and v_note.state not in ('delivered', 'void') then
    begin
      select to_jsonb(m) || jsonb_build_object('id', v_note.approval_id, 'facts', m.facts::jsonb) into v_asked
        from holdfast.mint_token(v_note.approval_id, v_note.recipient, p_token_hash) as m;
    exception when sqlstate 'HF020' or sqlstate 'HF022' then
      v_closed := true;   -- decided, expired or removed meanwhile: there is nobody to ask
    end;
  end if;
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select * into v_note from holdfast.notification n where n.id = p_notification for no key update;
  if not found or v_note.state in ('delivered', 'void') then
    return null;
  end if;
  update holdfast.notification n
     set job_id = p_job, state = case when v_closed then 'void' else 'waiting' end
   where n.id = p_notification;
  if v_closed then
    return null;
  end if;
  return (select jsonb_build_object('id', v_note.id, 'kind', v_note.kind, 'recipient', v_note.recipient, 'subject', v_note.subject, 'body', v_note.body,
            'priority', v_note.priority, 'created_at', v_note.created_at, 'approval', v_asked,
            'alert', (select to_jsonb(a) from holdfast.alert a where a.id = v_note.alert_id)))::text;
end $$;

create or replace function holdfast.end_delivery(p_job uuid, p_attempt int, p_claim_id uuid, p_notification uuid) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  update holdfast.notification n
     set state = 'delivered', delivered_at = holdfast.clock()
   where n.id = p_notification and n.job_id = p_job and n.state <> 'delivered';
end $$;

-- -- causes that are moves --------------------------------------------------------------------------------------------------

-- Called by follow_up after all that may wait for a job: alerts are locked after jobs. Costs two looks at empty tables where nobody declared anything.
create or replace function holdfast.raise_alerts(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz;
  v_opened uuid[];
begin
  if not exists (select from holdfast.alert_channel) and not exists (select from holdfast.alert_rule) then
    return;
  end if;
  update holdfast.notification n
     set state = 'failed'
   where n.job_id = any (p_ids) and n.state = 'waiting'
     and (select j.status in ('FAILED', 'CANCELLED') from holdfast.job j where j.id = n.job_id);
  if not exists (select from holdfast.alert_rule r where r.enabled and r.kind in ('job_failed', 'compensation_failed')) then
    return;
  end if;
  v_now := holdfast.clock();
  -- An open alert is left alone: updating it would let all failures of a task wait for each other.
  with failed as materialized (
    select j.id, j.task, j.queue, j.tenant, j.compensates
      from unnest(p_ids) as i (id)
      join holdfast.job j on j.id = any (array[i.id])
     where j.status = 'FAILED' and not holdfast.is_own_task(j.task)),
  causes as materialized (
    select r.name as rule, r.severity, w.about,
           case r.kind when 'job_failed' then format('%s of task %s FAILED', case count(*) when 1 then 'a job' else count(*) || ' jobs' end, min(f.task::text))
             else format('the compensation of job %s (task %s) FAILED: what it had done is not undone', min(f.compensates::text), min(f.task::text)) end as message,
           (array_agg(f.id::uuid order by f.id))[1] as job_id, count(*) as n
      from failed f
      join holdfast.alert_rule r on r.enabled and r.kind = case when f.compensates is null then 'job_failed' else 'compensation_failed' end
       and (r.task is null or r.task = f.task) and (r.queue is null or r.queue = f.queue) and (r.tenant is null or r.tenant = f.tenant)
      cross join lateral (select case r.kind when 'job_failed' then 'task:' || f.task else 'job:' || f.compensates end as about) as w
     group by r.name, r.kind, r.severity, w.about),
  opened as (
    insert into holdfast.alert (rule, about, severity, message, job_id, count, opened_at, last_seen_at)
    select c.rule, c.about, c.severity, c.message, c.job_id, c.n, v_now, v_now from causes c order by c.rule, c.about
    on conflict (rule, about) where closed_at is null do nothing
    returning id)
  select array_agg(o.id) into v_opened from opened o;
  perform holdfast.tell_of_alert(o.id, 'opened') from unnest(v_opened) as o (id);
end $$;
