-- Row level security: every table that has rows of tenants, and which of its rows are whose.

-- Binds a table: p_own says which rows a caller sees that is bound to a tenant. That is one equation, which an index by tenant serves.
-- Callers bound to none see all; viewers look at small tables and may say '*' themselves. Not forced on the owner, as whom the
-- functions run: a policy that says true protects nothing, and behind it the planner no longer sees that the line is in order
-- (docs/decisions/0014). What is bound already is left alone: policies are made under a lock that keeps everybody waiting.
create or replace function holdfast.bind_to_tenants(p_table regclass, p_own text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_everybody text := case when holdfast.can_step_out() then 'holdfast_viewer' else 'holdfast_viewer, holdfast_api' end;
  v_says text := format('%s; * for %s', p_own, v_everybody);
begin
  if not holdfast.has_roles() then
    return;   -- whoever owns everything is bound by nothing
  end if;
  if (select c.relrowsecurity from pg_class c where c.oid = p_table)
     and v_says = (select obj_description(p.oid, 'pg_policy') from pg_policy p where p.polrelid = p_table and p.polname = 'own_rows') then
    return;
  end if;
  execute format('drop policy if exists own_rows on %s', p_table);
  execute format('drop policy if exists all_rows on %s', p_table);
  execute format('drop policy if exists all_rows_when_asked on %s', p_table);
  execute format('create policy own_rows on %s for select to holdfast_api, holdfast_viewer using (%s)', p_table, p_own);
  execute format('create policy all_rows_when_asked on %s for select to %s using (holdfast.seen_tenant() = ''*'')', p_table, v_everybody);
  if holdfast.can_step_out() then
    execute format('create policy all_rows on %s for select to holdfast_unbound using (true)', p_table);
  end if;
  execute format('comment on policy own_rows on %s is %L', p_table, v_says);
  execute format('alter table %s enable row level security', p_table);
end $$;

select holdfast.bind_to_tenants('holdfast.job', 'tenant = holdfast.seen_tenant() and tenant is not null');   -- as its index says
select holdfast.bind_to_tenants(('holdfast.' || t)::regclass, format('exists (select from holdfast.job j where j.id = %I.job_id)', t))
  from unnest(array['job_history', 'attempt', 'log_part', 'step', 'checkpoint', 'progress', 'wait', 'dependency', 'activity', 'dispatch',
                    'callback_nonce', 'slot', 'rate_slot', 'approval', 'left_over']) as t;
select holdfast.bind_to_tenants(('holdfast.' || t)::regclass, format('exists (select from holdfast.approval a where a.id = %I.approval_id)', t))
  from unnest(array['approval_decision', 'approver']) as t;
select holdfast.bind_to_tenants(('holdfast.' || t)::regclass, 'tenant = holdfast.seen_tenant()')
  from unnest(array['event', 'usage', 'storage', 'quota', 'alert_rule', 'api_key', 'request', 'audit', 'operation', 'webhook_delivery', 'person', 'saved_view']) as t;
select holdfast.bind_to_tenants('holdfast.operation_chunk', 'exists (select from holdfast.operation o where o.id = operation_chunk.operation_id)');
select holdfast.bind_to_tenants('holdfast.tenant', 'name = holdfast.seen_tenant()');
select holdfast.bind_to_tenants('holdfast.schedule', 'options ->> ''tenant'' = holdfast.seen_tenant()');
select holdfast.bind_to_tenants('holdfast.schedule_run', 'exists (select from holdfast.schedule s where s.name = schedule_run.schedule)');
-- What a rule of nobody's says of a task counts the jobs of all, whosever job came first.
select holdfast.bind_to_tenants('holdfast.alert',
  'not starts_with(about, ''task:'') and exists (select from holdfast.job j where j.id = alert.job_id) or exists (select from holdfast.alert_rule r where r.name = alert.rule)');
select holdfast.bind_to_tenants('holdfast.notification',
  'exists (select from holdfast.alert a where a.id = notification.alert_id) or exists (select from holdfast.approval a where a.id = notification.approval_id)');
select holdfast.bind_to_tenants(('holdfast.' || t)::regclass, 'holdfast.channel_tenant(channel) = holdfast.seen_tenant()')
  from unnest(array['feed', 'published']) as t;
select holdfast.bind_to_tenants('holdfast.channel', 'holdfast.channel_tenant(name) = holdfast.seen_tenant()');
-- Sums over all tenants, names of other tenants, and what lets people in: for nobody who is bound to one.
select holdfast.bind_to_tenants(('holdfast.' || t)::regclass, 'false')
  from unnest(array['statistic', 'timing', 'duration', 'tally', 'rate_wait', 'turn', 'ring', 'session', 'device', 'login_try']) as t;
-- A partition is read through its parent, whose policies count; nobody but the owner reads it by itself.
select holdfast.bind_to_tenants(i.inhrelid::regclass, 'false')
  from pg_inherits i
 where i.inhparent = 'holdfast.job_history'::regclass;
