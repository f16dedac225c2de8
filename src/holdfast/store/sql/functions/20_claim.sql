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

-- "= any (array[…])" finds a row by its id as "=" does, but is nothing to merge by: the planner has no reason left to read all jobs
-- in the order of their ids, as a plan made while the table was empty would do ever after. So in all functions of the worker.
-- p_after skips what is already dead at the head of the line; the caller asks with -infinity now and then.
-- The settings leave only the ordered index scan: no statistics can talk the planner into sorting the whole line.
create or replace function holdfast.claim(
  p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit int, p_after timestamptz default '-infinity')
returns table (id uuid, task text, payload text, attempt int, claim_order timestamptz, retry_count smallint, max_retries smallint,
               tenant text, subject text, timeout float8, extras text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz;
begin
  if holdfast.queue_is_paused(p_queue) then
    return;
  end if;
  perform holdfast.act_as_worker(p_worker);
  v_now := holdfast.clock();
  return query
  with taken as materialized (
    select j.id, j.claim_order
      from holdfast.job j
     where j.queue = p_queue and j.claim_order >= p_after and not j.suspect and j.task = any (p_tasks)
     order by j.claim_order, j.id
     limit p_limit
       for no key update skip locked)
  update holdfast.job j
     set status = 'RUNNING', came_from = j.status, seq = j.seq + 1, attempt = j.attempt + 1, updated_at = v_now,
         claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
         deadline_at = v_now + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity'   -- again, and opaque: the planner must not drive the join from the line
  returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
            extract(epoch from j.timeout)::float8,
            holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates);
end $$;

-- What few jobs have, in one column: most attempts decode nothing for it.
create or replace function holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb, p_compensates uuid)
returns text
language sql immutable parallel safe
return case when coalesce(p_label, p_requested_by, p_trace_parent, p_key) is not null or p_metadata is not null or p_compensates is not null
            then jsonb_build_object('label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent,
                                    'key', p_key, 'metadata', p_metadata, 'compensates', p_compensates)::text
       end;

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
