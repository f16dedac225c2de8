-- Operations on many jobs: made with the job that carries them out, and done a chunk a transaction.

-- p_id is the operation's and its job's; a repeat after a lost answer makes nothing. p_priority or p_queue is what its jobs get.
create or replace function holdfast.begin_operation(
  p_id uuid, p_tenant text, p_action text, p_priority int, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb)
returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_chunks int := (cardinality(p_jobs) + 499) / 500;
begin
  perform holdfast.require_own(p_tenant, 'an operation');
  if p_action = 'reprioritise' then
    perform holdfast.check_priority(p_priority);
  elsif p_action = 'move' then
    perform holdfast.check_queue(p_queue);
  end if;
  insert into holdfast.operation (id, tenant, action, priority, queue, search, actor, reason, total)
  values (p_id, p_tenant, p_action, p_priority, p_queue, p_search, p_actor, p_reason, cardinality(p_jobs))
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
      'tenant', p_tenant, 'requested_by', p_actor,
      'label', left(format('%s %s jobs%s: %s', p_action, cardinality(p_jobs), ' to ' || coalesce(p_priority::text, p_queue), p_search), 500)))),
    p_declared);
end $$;

-- As programs of the release before ask for it.
create or replace function holdfast.create_operation(
  p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.begin_operation(p_id, p_tenant, p_action, null, null, p_search, p_actor, p_reason, p_jobs, p_declared)
$$;

-- Does to one job what an operation does; answers why not, if it cannot be.
create or replace function holdfast.operate(p_operation holdfast.operation, p_job uuid) returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_reason text := concat_ws(' ', p_operation.reason, format('(operation %s)', p_operation.id));
  v_job holdfast.job;
  v_problem text;
begin
  select * into v_job
    from holdfast.job j
   where j.id = p_job and (p_operation.tenant is null or j.tenant = p_operation.tenant)
     for no key update;
  if not found then
    return 'it is not there any more';
  end if;
  if p_operation.action = 'retry' then
    begin
      perform holdfast.retry(p_job, p_operation.actor, v_reason);
      return null;
    exception when sqlstate 'HF008' or sqlstate 'HF012' then   -- also what a limit rejects
      return sqlerrm;
    end;
  end if;
  v_problem := holdfast.why_unchanged(p_operation.action, v_job);
  if v_problem is not null then
    return v_problem;
  end if;
  case p_operation.action
    when 'cancel' then perform holdfast.cancel(p_job, p_operation.actor, v_reason);
    when 'reprioritise' then perform holdfast.put_at(v_job, p_operation.priority, p_operation.actor, v_reason);
    when 'move' then perform holdfast.put_into_queue(v_job, p_operation.queue, p_operation.actor, v_reason);
    when 'delete' then perform holdfast.take_away(v_job, p_operation.actor, null, p_operation.reason, p_operation.id);
  end case;
  return null;
end $$;

-- Retries take keys: in the order in which all calls take them.
create or replace function holdfast.in_order_of_keys(p_jobs uuid[]) returns uuid[]
language sql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
  select array_agg(s.job order by j.tenant, j.task, j.key, s.job)
    from unnest(p_jobs) as s (job)
    left join holdfast.job j on j.id = any (array[s.job])
$$;

-- Deals with a chunk of an operation, once: who asks again is told what came of it.
create or replace function holdfast.run_chunk(p_operation uuid, p_nth int, out done int, out skipped int)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_operation holdfast.operation;
  v_chunk holdfast.operation_chunk;
  v_jobs uuid[];
  v_refusals jsonb;
begin
  select * into v_operation from holdfast.operation o where o.id = p_operation;
  select * into v_chunk from holdfast.operation_chunk c where c.operation_id = p_operation and c.nth = p_nth for update;
  if not found then
    raise exception 'operation % has no chunk %', p_operation, p_nth using errcode = 'HF005';
  end if;
  if v_chunk.finished_at is null then
    perform holdfast.lock_jobs(v_chunk.jobs, v_operation.tenant,
      case when v_operation.action = 'cancel' then array(select m from holdfast.moved_with(v_chunk.jobs, v_operation.tenant) as m) end);
    v_jobs := case v_operation.action when 'retry' then holdfast.in_order_of_keys(v_chunk.jobs) else array(select s.job from unnest(v_chunk.jobs) as s (job) order by s.job) end;
    select coalesce(jsonb_agg(jsonb_build_object('job', t.job, 'why', t.why)) filter (where t.why is not null), '[]')
      into v_refusals
      from (select u.job, holdfast.operate(v_operation, u.job) as why
              from (select s.job from unnest(v_jobs) with ordinality as s (job, nth) order by s.nth) as u) as t;
    update holdfast.operation_chunk c
       set finished_at = holdfast.clock(), skipped = jsonb_array_length(v_refusals), refusals = v_refusals,
           done = cardinality(c.jobs) - jsonb_array_length(v_refusals)
     where c.operation_id = p_operation and c.nth = p_nth
    returning * into v_chunk;
  end if;
  done := v_chunk.done;
  skipped := v_chunk.skipped;
end $$;
