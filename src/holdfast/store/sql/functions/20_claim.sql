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

-- Tenants with jobs in line, and where their lines begin, by name from p_from to before p_below (null: to the end), p_most at most.
-- Hops along the index: what it costs depends on how many tenants it answers, not on how many jobs they have.
create or replace function holdfast.tenants_in_line(
  p_queue text, p_from text, p_below text, p_most int, out tenants text[], out heads timestamptz[])
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
begin
  with recursive hop as (
    (select 1 as number, coalesce(j.tenant, '') as tenant, j.claim_order
       from holdfast.job j
      where j.queue = p_queue and coalesce(j.tenant, '') >= p_from and coalesce(j.tenant, '') > '' and j.claim_order is not null and not j.suspect
      order by coalesce(j.tenant, ''), j.claim_order
      limit 1)
    union all
    select h.number + 1, further.tenant, further.claim_order
      from hop h
     cross join lateral (
       select coalesce(j.tenant, '') as tenant, j.claim_order
         from holdfast.job j
        where j.queue = p_queue and coalesce(j.tenant, '') > h.tenant and j.claim_order is not null and not j.suspect
        order by coalesce(j.tenant, ''), j.claim_order
        limit 1) as further
     where h.number < p_most and (p_below is null or h.tenant < p_below))
  select coalesce(array_agg(h.tenant order by h.number), '{}'), coalesce(array_agg(h.claim_order order by h.number), '{}')
    into tenants, heads
    from hop h
   where p_below is null or h.tenant < p_below;
end $$;

-- The tenants whose turns come next, from p_tenant on and around, p_most at most, and where their lines begin. Jobs without a tenant
-- are the tenant '', whose line begins at p_after. p_known, unless it is null, says which others there are.
create or replace function holdfast.next_tenants(
  p_queue text, p_tenant text, p_most int, p_after timestamptz, p_known holdfast.ring, out tenants text[], out heads timestamptz[])
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_has_none boolean := exists (select from holdfast.job j
                                 where j.queue = p_queue and coalesce(j.tenant, '') = '' and j.claim_order >= p_after and not j.suspect);
  v_none text[] := case when v_has_none then array[''] else '{}' end;
  v_its_head timestamptz[] := case when v_has_none then array[p_after] else '{}' end;
  v_rest record;
begin
  if p_known.queue is not null then
    select array_agg(k.tenant order by k.tenant < p_tenant, k.tenant), array_agg(k.head order by k.tenant < p_tenant, k.tenant)
      into tenants, heads
      from unnest(v_none || p_known.tenants, v_its_head || p_known.heads) as k (tenant, head);
    tenants := tenants[:p_most];
    heads := heads[:p_most];
    return;
  end if;
  select t.tenants, t.heads into tenants, heads from holdfast.tenants_in_line(p_queue, p_tenant, null, p_most) as t;
  if p_tenant = '' then
    tenants := v_none || tenants;
    heads := v_its_head || heads;
  elsif cardinality(tenants) < p_most then
    select t.tenants, t.heads into v_rest from holdfast.tenants_in_line(p_queue, '', p_tenant, p_most - cardinality(tenants)) as t;
    tenants := tenants || v_none || v_rest.tenants;
    heads := heads || v_its_head || v_rest.heads;
  end if;
end $$;

-- The next turns: round robin over tenants with jobs in line, a turn being as many jobs as the tenant's weight. They begin with
-- p_tenant, which has had p_used jobs of its turn; answers how many of p_limit jobs each may have (p_least in any case), and where the
-- turns end.
create or replace function holdfast.share_out(
  p_tenants text[], p_is_whole boolean, p_limit int, p_least int, p_tenant text, p_used int,
  out shares int[], out tenant text, out used int)
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp set plan_cache_mode = force_generic_plan as $$
begin
  with weighed as (
    select r.name, r.place, coalesce(t.weight, 1) as weight, case when r.name = p_tenant then least(p_used, coalesce(t.weight, 1)) else 0 end as had
      from unnest(p_tenants) with ordinality as r (name, place)
      left join holdfast.tenant t on t.name = r.name),
  lap as (
    select w.name, w.place, w.weight, w.had, p_limit / sum(w.weight) over () as laps, p_limit % sum(w.weight) over () as rest,
           sum(w.weight - w.had) over (order by w.place) - (w.weight - w.had) as before, sum(w.weight - w.had) over () as all_but_had
      from weighed w),
  -- What whole laps leave over goes by turns again: first the rest of the turn that was begun, and its beginning last.
  part as (
    select l.*, greatest(least(l.rest - l.before, l.weight - l.had), 0) as now, greatest(least(l.rest - l.all_but_had, l.had), 0) as again
      from lap l),
  shared as (
    select p.name, p.place, p.again > 0 as is_last, greatest(p.laps * p.weight + p.now + p.again, p_least)::int as share,
           case when p.again > 0 then p.again when p.now > 0 then p.had + p.now when p.laps > 0 and not p_is_whole then p.weight end::int as used
      from part p)
  select array_agg(s.share order by s.place),
         (array_agg(s.name order by s.is_last desc, s.place desc) filter (where s.used is not null))[1],
         (array_agg(s.used order by s.is_last desc, s.place desc) filter (where s.used is not null))[1]
    into shares, tenant, used
    from shared s;
  if tenant is null then   -- whole laps end where they began
    tenant := p_tenant;
    used := p_used;
  end if;
end $$;

-- How many jobs a tenant gets in its turn: 1 for everybody who has no row here.
create or replace function holdfast.set_tenant_weight(p_tenant text, p_weight int) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('a tenant''s weight');
  if p_tenant is null or p_tenant = '' or length(p_tenant) > 200 then
    raise exception 'a tenant has 1 to 200 characters' using errcode = 'HF005';
  end if;
  if p_weight is null or p_weight not between 1 and 1000 then
    raise exception 'the weight of tenant % must be 1 to 1000, not %', p_tenant, coalesce(p_weight::text, 'null') using errcode = 'HF005';
  end if;
  if p_weight = 1 then
    delete from holdfast.tenant t where t.name = p_tenant;
  else
    insert into holdfast.tenant as t (name, weight) values (p_tenant, p_weight)
    on conflict (name) do update set weight = excluded.weight, set_at = excluded.set_at;
  end if;
end $$;

-- Two inserts of one key wait for each other; of two claims, one inserts and the other goes on.
create or replace function holdfast.is_first(p_what text) returns boolean
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select pg_try_advisory_xact_lock(hashtextextended('holdfast.' || p_what, 0))
$$;

-- Writes down where the turns ended, unless another claim is at it: claims never wait for each other.
create or replace function holdfast.keep_turn(p_queue text, p_tenant text, p_used int) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform from holdfast.turn t where t.queue = p_queue for update skip locked;
  if found then
    update holdfast.turn t set tenant = p_tenant, used = p_used where t.queue = p_queue;
  elsif not exists (select from holdfast.turn t where t.queue = p_queue) and holdfast.is_first('turn:' || p_queue) then
    insert into holdfast.turn (queue, tenant, used) values (p_queue, p_tenant, p_used) on conflict (queue) do nothing;
  end if;
end $$;

-- A look that took long serves all claims for twenty times as long, 0.3 seconds at most: so long may a new tenant go unseen.
create or replace function holdfast.keep_ring(p_queue text, p_took interval) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_until timestamptz := holdfast.clock() + least(p_took * 20, interval '0.3 seconds');
begin
  perform from holdfast.ring r where r.queue = p_queue for update skip locked;
  if found then
    update holdfast.ring r set tenants = t.tenants, heads = t.heads, until = v_until
      from holdfast.tenants_in_line(p_queue, '', null, 2000) as t
     where r.queue = p_queue;
  elsif not exists (select from holdfast.ring r where r.queue = p_queue) and holdfast.is_first('ring:' || p_queue) then
    insert into holdfast.ring (queue, tenants, heads, until)
    select p_queue, t.tenants, t.heads, v_until from holdfast.tenants_in_line(p_queue, '', null, 2000) as t
    on conflict (queue) do nothing;
  end if;
end $$;

-- Jobs in turn for claim, which asks again and again until it has enough: p_left of them now.
create or replace function holdfast.next_turns(
  p_queue text, p_left int, p_after timestamptz, p_is_dry boolean, p_known holdfast.ring, inout tenant text, inout used int,
  out tenants text[], out heads timestamptz[], out shares int[], out is_whole boolean)
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp set plan_cache_mode = force_generic_plan as $$
declare
  -- Finding a tenant costs a good part of what a job costs: of very many some are served, a little longer. If those had nothing, anybody is.
  v_most int := case when p_is_dry then 1000000 else least(p_left, 256) + 1 end;
begin
  select n.tenants, n.heads into tenants, heads from holdfast.next_tenants(p_queue, tenant, v_most, p_after, p_known) as n;
  is_whole := cardinality(tenants) < v_most;
  select o.shares, o.tenant, o.used into shares, tenant, used from holdfast.share_out(tenants, is_whole, p_left, p_is_dry::int, tenant, used) as o;
end $$;

-- "= any (array[…])" finds a row by its id as "=" does, but is nothing to merge by: the planner has no reason left to read all jobs
-- in the order of their ids, as a plan made while the table was empty would do ever after. So in all functions of the worker.
-- p_after skips what is already dead at the head of the line of jobs without a tenant; the caller asks with -infinity now and then.
-- The settings leave only the ordered index scan: no statistics can talk the planner into sorting the whole line; so a plan can be kept.
create or replace function holdfast.claim(
  p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit int, p_after timestamptz default '-infinity')
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set plan_cache_mode = force_generic_plan set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz;
  -- What came into the line before its queue had a limit holds no slot yet.
  v_needs_slots boolean := exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null);
  v_known holdfast.ring;
  v_turn holdfast.turn;
  v_tenant text;
  v_used int;
  v_tenants text[];
  v_heads timestamptz[];
  v_shares int[];
  v_has_tenants boolean;
  v_is_whole boolean;
  v_began timestamptz;
  v_walked bigint := 0;
  v_left bigint := p_limit;
  v_count bigint;
  v_said bytea;
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  if holdfast.queue_is_paused(p_queue) or cardinality(p_tasks) = 0 then
    return;
  end if;
  perform holdfast.act_as_worker(p_worker);
  if v_needs_slots and not (select q.cleared from holdfast.queue q where q.name = p_queue) then
    return query select * from holdfast.claim_by_slots(p_worker, p_claim_id, p_queue, p_tasks, p_limit);
    return;
  end if;
  v_now := holdfast.clock();
  v_said := holdfast.said('RUNNING', v_now, pg_current_xact_id()::text::bigint, holdfast.actor(), null, null);
  select r.* into v_known from holdfast.ring r where r.queue = p_queue and r.until > v_now;
  loop
    v_began := holdfast.clock();
    v_walked := pg_stat_get_xact_tuples_returned('holdfast.job_in_line'::regclass);
    v_has_tenants := case when v_known.queue is not null then v_known.tenants <> '{}'
                          else exists (select from holdfast.job j
                                        where j.queue = p_queue and coalesce(j.tenant, '') > '' and j.claim_order is not null and not j.suspect)
                     end;
    if v_has_tenants then
      if v_tenant is null then
        select t.* into v_turn from holdfast.turn t where t.queue = p_queue;
        v_tenant := coalesce(v_turn.tenant, '');
        v_used := coalesce(v_turn.used, 0);
      end if;
      select n.tenants, n.heads, n.shares, n.tenant, n.used, n.is_whole
        into v_tenants, v_heads, v_shares, v_tenant, v_used, v_is_whole
        from holdfast.next_turns(p_queue, v_left::int, p_after, v_count = 0, v_known, v_tenant, v_used) as n;
    else
      v_tenants := array[''];
      v_heads := array[p_after];
      v_shares := array[v_left];
      v_is_whole := true;
    end if;
    v_walked := pg_stat_get_xact_tuples_returned('holdfast.job_in_line'::regclass) - v_walked - cardinality(v_tenants);
    if v_known.queue is null and v_walked > 1000 then   -- entries of dead rows that a snapshot keeps
      perform holdfast.keep_ring(p_queue, holdfast.clock() - v_began);
    end if;
    return query
    with taken as materialized (
      select line.id, line.claim_order
        from unnest(v_tenants, v_heads, v_shares) as t (name, head, share)
       cross join lateral (
         select j.id, j.claim_order
           from holdfast.job j
          where j.queue = p_queue and coalesce(j.tenant, '') = t.name and j.claim_order >= t.head and not j.suspect and j.task = any (p_tasks)
            and (not v_needs_slots or holdfast.has_slot(j.id, 'queue:' || p_queue))
          order by j.claim_order, j.id
          limit t.share
            for no key update skip locked) as line
       limit v_left)
    update holdfast.job j
       set status = 'RUNNING', came_from = j.status, seq = j.seq + 1, attempt = j.attempt + 1, updated_at = v_now,
           ready_at = holdfast.ready_since(j.claim_order, j.priority), started_at = v_now, claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
           deadline_at = v_now + j.timeout + interval '10 seconds',
           -- A history that tells of an approval is guard_move's to link, which is called where the chain stays as it is; so is one from
           -- before there were chains.
           chain = case when j.status = 'WAITING_FOR_APPROVAL' then j.chain
                        else holdfast.linked(j.chain, holdfast.ready_since(j.claim_order, j.priority), v_said) end
      from taken
     where j.id = any (array[taken.id::uuid])
       and coalesce(j.claim_order, 'infinity') < 'infinity'   -- again, and opaque: the planner must not drive the join from the line
    returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
              extract(epoch from j.timeout)::float8,
              holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates);
    get diagnostics v_count = row_count;
    v_left := v_left - v_count;
    exit when v_left <= 0 or (v_known.queue is null and v_is_whole and (v_count = 0 or not v_has_tenants));
    v_known := null;   -- what those have not, others may have
  end loop;
  if (v_tenant, v_used) is distinct from (v_turn.tenant, v_turn.used) then
    perform holdfast.keep_turn(p_queue, v_tenant, v_used);
  end if;
end $$;

-- What few jobs have, in one column: most attempts decode nothing for it.
create or replace function holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb, p_compensates uuid)
returns text
language sql immutable parallel safe
return case when coalesce(p_label, p_requested_by, p_trace_parent, p_key) is not null or p_metadata is not null or p_compensates is not null
            then jsonb_build_object('label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent,
                                    'key', p_key, 'metadata', p_metadata, 'compensates', p_compensates)::text
       end;

-- A claim from a limited queue whose line is not cleared yet. Very many stand there without a slot, perhaps before those with one: it
-- begins with the slots, of which there are no more than the limit. Admission has chosen who has them: no turns are taken here.
-- Nothing that an index of jobs would serve is asked for but the ids: a plan made for an empty table walks no line either.
create or replace function holdfast.claim_by_slots(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit int)
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language sql volatile set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
  with slotted as materialized (
    select s.job_id from holdfast.slot s where s.key = 'queue:' || p_queue and s.n is not null),
  taken as materialized (
    select j.id, j.claim_order
      from slotted s
      join holdfast.job j on j.id = any (array[s.job_id])
     where coalesce(j.claim_order, 'infinity') < 'infinity' and j.queue::text || '' = p_queue and coalesce(j.suspect, true) = false
       and j.task::text || '' = any (p_tasks)
     order by j.claim_order, j.id
     limit p_limit
       for no key update of j skip locked)
  update holdfast.job j
     set status = 'RUNNING', claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
         deadline_at = holdfast.clock() + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity'
  returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
            extract(epoch from j.timeout)::float8,
            holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates)
$$;

-- What a claim took whose answer was lost on the way: the claim id was the caller's, so it can ask again.
create or replace function holdfast.recover_claim(p_worker uuid, p_claim_id uuid)
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.id::uuid, j.task::text, j.payload::text, j.attempt, j.updated_at, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
         extract(epoch from j.timeout)::float8,
         holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates)
    from holdfast.job j
   where j.holder = p_worker and j.claim_id = p_claim_id and j.status = 'RUNNING'
$$;

-- A suspect is taken alone: of all jobs its worker holds, it is the only one that a crash can be blamed on. p_runs_on says that the worker's
-- process runs something else besides, which no book tells: a thread that nobody can end, an attempt of a name that was declared dead.
-- It once had a parameter less: beside that one, no call of either could be told from one of the other.
drop function if exists holdfast.claim_suspect(uuid, uuid, text[], text[]);
create or replace function holdfast.claim_suspect(
  p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[], p_runs_on boolean default false)
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  update holdfast.worker w   -- before the job, as the sweeper locks them
     set runs_on = p_runs_on
   where w.id = p_worker and w.runs_on <> p_runs_on;
  perform holdfast.act_as_worker(p_worker);   -- behind it: who waited there for a sweep may have died meanwhile
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
