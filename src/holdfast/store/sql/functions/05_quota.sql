-- Quotas: the projector counts and sets a flag; enqueue looks at the flag, and counts nothing.

create or replace function holdfast.refuse_quota(p_position bigint, p_id uuid, p_tenant text, p_task text, p_now timestamptz) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_quota holdfast.quota;
begin
  if exists (select from holdfast.job j where j.id = p_id) then
    return true;   -- the answer to it was lost, and the quota reached since: the repeat learns that its job is there
  end if;
  select * into strict v_quota
    from holdfast.quota q
   where q.tenant = p_tenant and q.reached_until > p_now and (q.task is null or q.task = p_task)
   order by q.reached_until desc
   limit 1;
  raise exception 'job %: tenant % has reached its quota of % % a %', p_position, quote_literal(p_tenant), v_quota.hard, v_quota.measure, v_quota.period
    using errcode = 'HF013', detail = p_tenant,
          hint = format('Nothing was enqueued. Try again after %s, or raise the quota: holdfast quota set.', v_quota.reached_until at time zone 'UTC' || ' UTC');
end $$;

create or replace function holdfast.period_start(p_period text, p_now timestamptz) returns timestamptz
language sql immutable parallel safe
return date_trunc(p_period, p_now at time zone 'UTC') at time zone 'UTC';

-- Compares what was used in the period with the marks. Called by the projector for tenants with new usage, and when a quota is set.
-- A month is added in UTC, wherever the session is: a month from a time in another zone ends where that zone's clocks have changed.
create or replace function holdfast.judge_quotas(p_tenants text[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp set timezone = 'UTC' as $$
declare
  v_now timestamptz := holdfast.clock();
  v_quota record;
begin
  for v_quota in
    select q.tenant, q.task, q.period, q.measure, q.soft, q.hard, q.told_until, q.reached_until, used.amount,
           holdfast.period_start(q.period, v_now) as since,
           holdfast.period_start(q.period, v_now) + case q.period when 'day' then interval '24 hours' else interval '1 month' end as ends
      from holdfast.quota q
      cross join lateral (
        select coalesce(sum(case q.measure when 'enqueued' then u.enqueued when 'runs' then u.runs else u.run_seconds end), 0) as amount
          from holdfast.usage u
         where u.tenant = q.tenant and u.day >= (holdfast.period_start(q.period, v_now) at time zone 'UTC')::date
           and (q.task is null or u.task = q.task)) as used
     where q.tenant = any (p_tenants)
     order by q.tenant, q.task, q.period, q.measure
       for no key update of q
  loop
    if v_quota.amount >= v_quota.soft and v_quota.told_until is distinct from v_quota.ends then
      perform holdfast.tell_quota('quota.soft', v_quota.tenant, v_quota.task, v_quota.period, v_quota.measure, v_quota.soft, v_quota.amount, v_quota.since);
    end if;
    if v_quota.amount >= v_quota.hard and v_quota.reached_until is distinct from v_quota.ends then
      perform holdfast.tell_quota('quota.hard', v_quota.tenant, v_quota.task, v_quota.period, v_quota.measure, v_quota.hard, v_quota.amount, v_quota.since);
    end if;
    update holdfast.quota q
       set told_until = case when v_quota.amount >= q.soft then v_quota.ends else q.told_until end,
           reached_until = case when v_quota.amount >= q.hard then v_quota.ends end
     where (q.tenant, q.period, q.measure) = (v_quota.tenant, v_quota.period, v_quota.measure) and q.task is not distinct from v_quota.task
       and (q.told_until is distinct from case when v_quota.amount >= q.soft then v_quota.ends else q.told_until end
            or q.reached_until is distinct from case when v_quota.amount >= q.hard then v_quota.ends end);
  end loop;
end $$;

create or replace function holdfast.tell_quota(
  p_kind text, p_tenant text, p_task text, p_period text, p_measure text, p_mark numeric, p_used numeric, p_since timestamptz) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.published (at, channel, kind, data)
  values (holdfast.clock(), 'tenant:' || p_tenant, p_kind,
          jsonb_build_object('tenant', p_tenant, 'task', p_task, 'period', p_period, 'measure', p_measure, 'mark', p_mark, 'used', p_used, 'since', p_since))
$$;

-- Sets a quota, or removes it when neither mark is given. What was used already counts at once.
create or replace function holdfast.set_quota(
  p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('a quota');
  if p_soft is null and p_hard is null then
    delete from holdfast.quota q
     where (q.tenant, q.period, q.measure) = (p_tenant, p_period, p_measure) and q.task is not distinct from p_task;
    return;
  end if;
  insert into holdfast.quota as q (tenant, task, period, measure, soft, hard)
  values (p_tenant, p_task, p_period, p_measure, p_soft, p_hard)
  on conflict (tenant, task, period, measure) do update
     set soft = excluded.soft, hard = excluded.hard, reached_until = null,
         told_until = case when excluded.soft is not distinct from q.soft then q.told_until end;
  perform holdfast.judge_quotas(array[p_tenant]);
end $$;
