-- Operations on many jobs: made with the job that carries them out, and done a chunk a transaction.

-- p_id is the operation's and its job's; a repeat after a lost answer makes nothing.
create or replace function holdfast.create_operation(
  p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_chunks int := (cardinality(p_jobs) + 499) / 500;
begin
  perform holdfast.require_own(p_tenant, 'an operation');
  insert into holdfast.operation (id, tenant, action, search, actor, reason, total)
  values (p_id, p_tenant, p_action, p_search, p_actor, p_reason, cardinality(p_jobs))
  on conflict (id) do nothing;
  if not found then
    return;
  end if;
  insert into holdfast.operation_chunk (operation_id, nth, jobs)
  select p_id, n, p_jobs[(n - 1) * 500 + 1 : n * 500]
    from generate_series(1, v_chunks) as n;
  perform holdfast.enqueue_many(
    jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'id', p_id, 'task', 'holdfast.bulk', 'payload', jsonb_build_object('chunks', v_chunks, 'total', cardinality(p_jobs)),
      'tenant', p_tenant, 'requested_by', p_actor, 'label', left(format('%s %s jobs: %s', p_action, cardinality(p_jobs), p_search), 500)))),
    p_declared);
end $$;

-- Does to one job what an operation does; answers why not, if it cannot be.
create or replace function holdfast.operate(p_operation holdfast.operation, p_job uuid) returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_reason text := concat_ws(' ', p_operation.reason, format('(operation %s)', p_operation.id));
  v_status holdfast.job_status;
begin
  select j.status into v_status
    from holdfast.job j
   where j.id = p_job and (p_operation.tenant is null or j.tenant = p_operation.tenant)
     for no key update;
  if not found then
    return 'it is not there any more';
  end if;
  if p_operation.action = 'cancel' then
    if holdfast.is_terminal(v_status) then
      return format('it is %s', v_status);
    end if;
    perform holdfast.cancel(p_job, p_operation.actor, v_reason);
    return null;
  end if;
  begin
    perform holdfast.retry(p_job, p_operation.actor, v_reason);
    return null;
  exception when sqlstate 'HF008' then
    return sqlerrm;
  end;
end $$;

-- Deals with a chunk of an operation, once: who asks again is told what came of it. The jobs are locked in the order of their ids,
-- as everywhere.
create or replace function holdfast.run_chunk(p_operation uuid, p_nth int, out done int, out skipped int)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_operation holdfast.operation;
  v_chunk holdfast.operation_chunk;
  v_refusals jsonb;
begin
  select * into v_operation from holdfast.operation o where o.id = p_operation;
  select * into v_chunk from holdfast.operation_chunk c where c.operation_id = p_operation and c.nth = p_nth for update;
  if not found then
    raise exception 'operation % has no chunk %', p_operation, p_nth using errcode = 'HF005';
  end if;
  if v_chunk.finished_at is null then
    select coalesce(jsonb_agg(jsonb_build_object('job', t.job, 'why', t.why)) filter (where t.why is not null), '[]')
      into v_refusals
      from (select u.job, holdfast.operate(v_operation, u.job) as why
              from (select s.job from unnest(v_chunk.jobs) as s (job) order by s.job) as u) as t;
    update holdfast.operation_chunk c
       set finished_at = holdfast.clock(), skipped = jsonb_array_length(v_refusals), refusals = v_refusals,
           done = cardinality(c.jobs) - jsonb_array_length(v_refusals)
     where c.operation_id = p_operation and c.nth = p_nth
    returning * into v_chunk;
  end if;
  done := v_chunk.done;
  skipped := v_chunk.skipped;
end $$;
