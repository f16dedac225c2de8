-- Claim: the worker's side of the line. Every claim issues the fence that all later writes of the attempt must show.

create or replace function holdfast.register_worker(
  p_id uuid, p_name text, p_host text, p_pid int, p_version text, p_queues jsonb, p_tasks text[], p_lease interval, p_its_clock timestamptz)
returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.worker (id, name, host, pid, version, queues, tasks, lease, clock_skew)
  values (p_id, p_name, p_host, p_pid, p_version, p_queues, p_tasks, p_lease, p_its_clock - clock_timestamp())
  on conflict (id) do nothing
$$;

create or replace function holdfast.queue_is_paused(p_queue text) returns boolean
language sql stable
return exists (select from holdfast.queue q
                where q.name = p_queue and q.paused_at is not null
                  and (q.resume_at is null or q.resume_at > holdfast.clock()));

-- The live worker's name for the history; an error for a dead one, whose jobs belong to others.
create or replace function holdfast.act_as_worker(p_worker uuid) returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_name text;
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker and w.died_at is null;
  if not found then
    raise exception 'worker % is not registered, or was declared dead', p_worker
      using errcode = 'HF002', hint = 'Register again under a new id; its jobs belong to others now.';
  end if;
  perform set_config('holdfast.actor', v_name, true);
  return v_name;
end $$;

-- Tenants with jobs in line, in the order of their names from p_from to before p_below (null: to the end), p_most of them at most.
-- Hops along the index: what it costs depends on how many tenants it answers, not on how many jobs they have.
create or replace function holdfast.tenants_in_line(p_queue text, p_from text, p_below text, p_most int) returns text[]
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  return array(
    with recursive hop as (
      select 1 as number,
             (select coalesce(j.tenant, '')
                from holdfast.job j
               where j.queue = p_queue and coalesce(j.tenant, '') >= p_from and j.claim_order is not null and not j.suspect
               order by coalesce(j.tenant, '')
               limit 1) as tenant
      union all
      select h.number + 1,
             (select coalesce(j.tenant, '')
                from holdfast.job j
               where j.queue = p_queue and coalesce(j.tenant, '') > h.tenant and j.claim_order is not null and not j.suspect
               order by coalesce(j.tenant, '')
               limit 1)
        from hop h
       where h.tenant is not null and h.number < p_most and (p_below is null or h.tenant < p_below))
    select h.tenant
      from hop h
     where h.tenant is not null and (p_below is null or h.tenant < p_below));
end $$;

-- The next turns of a queue: round robin over tenants with jobs in line, a turn being as many jobs as the tenant's weight.
-- It begins with p_tenant, which has had p_used jobs of its turn; answers how many of p_limit jobs each may have, and where it ended.
-- Looks at p_most tenants at most, and then serves those a little longer: finding a tenant costs as much as claiming a job.
create or replace function holdfast.next_turns(
  p_queue text, p_limit int, p_most int, p_tenant text, p_used int,
  out tenants text[], out shares int[], out tenant text, out used int, out is_whole boolean)
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_ring text[] := holdfast.tenants_in_line(p_queue, p_tenant, null, p_most);
begin
  if cardinality(v_ring) < p_most and p_tenant > '' then
    v_ring := v_ring || holdfast.tenants_in_line(p_queue, '', p_tenant, p_most - cardinality(v_ring));
  end if;
  is_whole := cardinality(v_ring) < p_most;
  with weighed as (
    select r.name, r.place, coalesce(t.weight, 1)::int as weight,
           case when r.name = p_tenant then least(p_used, coalesce(t.weight, 1)) else 0 end as had
      from unnest(v_ring) with ordinality as r (name, place)
      left join holdfast.tenant t on t.name = r.name),
  lap as (
    select w.*, p_limit / sum(w.weight) over () as laps, p_limit % sum(w.weight) over () as rest,
           sum(w.weight - w.had) over (order by w.place) - (w.weight - w.had) as before,
           sum(w.weight - w.had) over () as after
      from weighed w),
  -- What is left after whole laps goes by turns again; the one who was in its turn gets the rest of it first, its start last.
  shared as (
    select l.*, greatest(least(l.rest - l.before, l.weight - l.had), 0) as now, greatest(least(l.rest - l.after, l.had), 0) as again
      from lap l)
  select array_agg(s.name order by s.place) filter (where s.laps * s.weight + s.now + s.again > 0),
         array_agg((s.laps * s.weight + s.now + s.again)::int order by s.place) filter (where s.laps * s.weight + s.now + s.again > 0),
         (array_agg(s.name order by s.again > 0 desc, s.place desc) filter (where s.now + s.again > 0 or (s.laps > 0 and not is_whole)))[1],
         (array_agg(case when s.again > 0 then s.again when s.now > 0 then s.had + s.now else s.weight end order by s.again > 0 desc, s.place desc)
           filter (where s.now + s.again > 0 or (s.laps > 0 and not is_whole)))[1]::int
    into tenants, shares, tenant, used
    from shared s;
  if tenant is null then   -- whole laps: it ended where it began
    tenant := p_tenant;
    used := p_used;
  end if;
end $$;

create or replace function holdfast.last_turn(p_queue text) returns holdfast.turn
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_turn holdfast.turn;
begin
  select t.* into v_turn from holdfast.turn t where t.queue = p_queue;
  return case when found then v_turn else row(p_queue, '', 0)::holdfast.turn end;
end $$;

-- Writes down where the turns ended, unless another claim is at it: claims never wait for each other.
create or replace function holdfast.keep_turn(p_queue text, p_tenant text, p_used int) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform from holdfast.turn t where t.queue = p_queue for update skip locked;
  if found then
    update holdfast.turn t set tenant = p_tenant, used = p_used where t.queue = p_queue;
  elsif not exists (select from holdfast.turn t where t.queue = p_queue) then
    insert into holdfast.turn (queue, tenant, used) values (p_queue, p_tenant, p_used) on conflict (queue) do nothing;
  end if;
end $$;

-- "= any (array[…])" finds a row by its id as "=" does, but is nothing to merge by: the planner has no reason left to read all jobs
-- in the order of their ids, as a plan made while the table was empty would do ever after. So in all functions of the worker.
-- p_after skips what is already dead at the head of the line of jobs without a tenant; the caller asks with -infinity now and then.
-- The settings leave only the ordered index scan: no statistics can talk the planner into sorting the whole line.
create or replace function holdfast.claim(
  p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit int, p_after timestamptz default '-infinity')
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz;
  v_is_fair boolean;
  v_turn holdfast.turn;
  v_tenant text;
  v_used int;
  v_is_whole boolean := true;
  v_tenants text[] := array[''];
  v_shares int[] := array[p_limit];
  v_left bigint := p_limit;
  v_most int := 128;
  v_count bigint;
begin
  if holdfast.queue_is_paused(p_queue) then
    return;
  end if;
  perform holdfast.act_as_worker(p_worker);
  v_now := holdfast.clock();
  v_is_fair := exists (select from holdfast.job j
                        where j.queue = p_queue and coalesce(j.tenant, '') > '' and j.claim_order is not null and not j.suspect);
  if v_is_fair then
    v_turn := holdfast.last_turn(p_queue);
    v_tenant := v_turn.tenant;
    v_used := v_turn.used;
  end if;
  loop
    if v_is_fair then
      select n.tenants, n.shares, n.tenant, n.used, n.is_whole
        into v_tenants, v_shares, v_tenant, v_used, v_is_whole
        from holdfast.next_turns(p_queue, v_left::int, least(v_left, v_most)::int + 1, v_tenant, v_used) as n;
    end if;
    return query
    with taken as materialized (
      select line.id, line.claim_order
        from unnest(v_tenants, v_shares) as t (name, share)
       cross join lateral (
         select j.id, j.claim_order
           from holdfast.job j
          where j.queue = p_queue and coalesce(j.tenant, '') = t.name and not j.suspect and j.task = any (p_tasks)
            and j.claim_order >= case when t.name = '' then p_after else '-infinity' end
          order by j.claim_order, j.id
          limit t.share
            for no key update skip locked) as line)
    update holdfast.job j
       set status = 'RUNNING', came_from = j.status, seq = j.seq + 1, attempt = j.attempt + 1, updated_at = v_now,
           claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
           deadline_at = v_now + j.timeout + interval '10 seconds'
      from taken
     where j.id = any (array[taken.id::uuid])
       and coalesce(j.claim_order, 'infinity') < 'infinity'   -- again, and opaque: the planner must not drive the join from the line
    returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
              extract(epoch from j.timeout)::float8,
              holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata);
    get diagnostics v_count = row_count;
    v_left := v_left - v_count;
    exit when not v_is_fair or v_left <= 0 or (v_count = 0 and v_is_whole);
    v_most := case when v_count = 0 then 1000000 else v_most end;   -- nobody of those had a job for us: ask everybody
  end loop;
  if v_is_fair and (v_tenant, v_used) is distinct from (v_turn.tenant, v_turn.used) then
    perform holdfast.keep_turn(p_queue, v_tenant, v_used);
  end if;
end $$;

-- What few jobs have, in one column: most attempts decode nothing for it.
create or replace function holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb)
returns text
language sql immutable parallel safe
return case when coalesce(p_label, p_requested_by, p_trace_parent, p_key) is not null or p_metadata is not null
            then jsonb_build_object('label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent,
                                    'key', p_key, 'metadata', p_metadata)::text
       end;

-- What a claim took whose answer was lost on the way: the claim id was the caller's, so it can ask again.
create or replace function holdfast.recover_claim(p_worker uuid, p_claim_id uuid)
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.id::uuid, j.task::text, j.payload::text, j.attempt, j.updated_at, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
         extract(epoch from j.timeout)::float8,
         holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata)
    from holdfast.job j
   where j.holder = p_worker and j.claim_id = p_claim_id and j.status = 'RUNNING'
$$;

-- A suspect is taken alone: of all jobs its worker holds, it is the only one that a crash can be blamed on.
create or replace function holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[])
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform holdfast.act_as_worker(p_worker);
  with taken as materialized (
    select j.id
      from holdfast.job j
     where j.queue = any (p_queues) and j.claim_order is not null and j.suspect and j.task = any (p_tasks)
       and not holdfast.queue_is_paused(j.queue)
     order by j.claim_order, j.id
     limit 1
       for no key update skip locked)
  update holdfast.job j
     set status = 'RUNNING', claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id,
         reason = 'alone: its last worker died with it', deadline_at = holdfast.clock() + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity';
  return query select * from holdfast.recover_claim(p_worker, p_claim_id);
end $$;
