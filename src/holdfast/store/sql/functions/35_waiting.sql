-- Waiting: an attempt gives its job up until a time, an event or other jobs' ends, and holds no worker meanwhile.

-- Without p_importance, as before it; dropped here and not by a migration, so that no moment is without a function of this name.
drop function if exists holdfast.sleep_until(uuid, int, uuid, text, text, float8, timestamptz, jsonb);
drop function if exists holdfast.wait_for_event(uuid, int, uuid, text, text, text, float8, jsonb);
drop function if exists holdfast.wait_for_jobs(uuid, int, uuid, text, text, uuid[], float8, jsonb);
drop function if exists holdfast.enqueue_children(uuid, int, uuid, text, text, jsonb, jsonb);

-- A time as people read it in a reason, whatever the session's settings are.
create or replace function holdfast.moment(p_at timestamptz) returns text
language sql stable parallel safe
return to_char(p_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI:SS "UTC"');

create or replace function holdfast.put_aside(p_job holdfast.job, p_due_at timestamptz, p_held_by text, p_reason text, p_logs jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_name text := holdfast.holder_name(p_job.holder);
begin
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'WAITING', holder = null, deadline_at = null, suspect = false, claim_order = null, due_at = p_due_at, held_by = p_held_by,
         reason = p_reason
   where j.id = p_job.id;
  perform holdfast.keep_logs(p_job, v_name, 'waiting', p_logs);
end $$;

-- Answers whether the job now waits; a time that has come is no wait.
create or replace function holdfast.sleep_until(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_after text, p_seconds float8, p_until timestamptz, p_logs jsonb,
  p_importance text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_now timestamptz := holdfast.clock();
  v_until timestamptz := coalesce(p_until, v_now + make_interval(secs => p_seconds));
begin
  if exists (select from holdfast.step s where s.job_id = p_job and s.name = p_name) then
    return false;   -- the answer to the first call was lost: it still runs, so the time had come
  end if;
  -- Saved at once: whoever claims the job afterwards does so because the time has come.
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
  values (p_job, p_name, 'sleep', p_after, p_attempt, v_now, greatest(v_now, v_until), to_jsonb(v_until), p_importance);
  if v_until <= v_now then
    return false;
  end if;
  delete from holdfast.wait w where w.job_id = p_job;   -- of an older release: its event would end the sleep
  perform holdfast.put_aside(v_job, v_until, null, 'sleeps until ' || holdfast.moment(v_until), p_logs);
  return true;
end $$;

create or replace function holdfast.lock_event(p_name text) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  select pg_advisory_xact_lock(hashtextextended('holdfast:event:' || p_name, 0))
$$;

-- An event before the wait is found, one after it wakes the job: emit and this take the event's lock before any job's, so that
-- neither can miss the other. Each wait of a job takes the oldest event of that name that the job has not taken yet.
create or replace function holdfast.wait_for_event(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_after text, p_event text, p_timeout float8, p_logs jsonb,
  p_importance text default null,
  out waits boolean, out timed_out boolean, out payload text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
  v_now timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_event holdfast.event;
  v_told jsonb;
begin
  perform holdfast.lock_event(p_event);
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select s.value into v_told from holdfast.step s where s.job_id = p_job and s.name = p_name;
  if found then   -- the answer to the first call was lost: what it took is not taken twice
    waits := false;
    timed_out := (v_told ->> 'timed_out')::boolean;
    payload := case when not timed_out then (v_told -> 'payload')::text end;
    return;
  end if;
  v_now := holdfast.clock();
  select w.since, w.until into v_since, v_until
    from holdfast.wait w
   where w.job_id = p_job and w.step = p_name;
  if not found then
    v_since := v_now;
    v_until := v_now + make_interval(secs => p_timeout);
  end if;
  select * into v_event
    from holdfast.event e
   where e.name = p_event and (e.tenant is null or e.tenant = v_job.tenant)
     and e.id > coalesce((select max((s.value ->> 'id')::bigint)
                            from holdfast.step s
                           where s.job_id = p_job and s.kind = 'event' and s.value ->> 'event' = p_event), 0)
   order by e.id
   limit 1;
  payload := v_event.payload::text;
  timed_out := v_event.id is null and coalesce(v_until <= v_now, false);
  waits := v_event.id is null and not timed_out;
  if waits then
    insert into holdfast.wait (job_id, step, after, event, until, since)
    values (p_job, p_name, p_after, p_event, v_until, v_since)
    on conflict (job_id) do update set step = excluded.step, after = excluded.after, event = excluded.event, remaining = null,
       until = excluded.until, since = excluded.since;
    perform holdfast.put_aside(v_job, v_until, case when v_until is null then 'event ' || p_event end,
      'waits for event ' || p_event || coalesce(' until ' || holdfast.moment(v_until), ''), p_logs);
  else
    delete from holdfast.wait w where w.job_id = p_job;
    insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
    values (p_job, p_name, 'event', p_after, p_attempt, v_since, v_now,
            jsonb_build_object('event', p_event, 'id', v_event.id, 'payload', v_event.payload, 'timed_out', timed_out), p_importance);
  end if;
end $$;

-- Emits an event: kept for later waits, and whoever waits for it now goes on. Answers how many do.
-- A call with a token may be repeated after a lost answer.
create or replace function holdfast.emit(
  p_name text, p_payload jsonb default 'null', p_tenant text default null, p_actor text default null, p_token uuid default null) returns bigint
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz;
  v_ids uuid[];
  v_count bigint;
begin
  perform holdfast.require_own(p_tenant, format('event %L', p_name));
  if coalesce(p_name, '') = '' or length(p_name) > 500 then
    raise exception 'an event needs a name of 1 to 500 characters' using errcode = 'HF005';
  end if;
  if octet_length(p_payload::text) > 262144 then
    raise exception 'event % has a payload of % bytes; at most 262,144 (256 KiB) fit', quote_literal(p_name), octet_length(p_payload::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and send its id.';
  end if;
  perform holdfast.lock_event(p_name);
  select e.woke into v_count from holdfast.event e where e.token = p_token;
  if found then
    return v_count;
  end if;
  v_now := holdfast.clock();
  select array_agg(l.id) into v_ids
    from (select j.id::uuid
            from (select w.job_id, w.until from holdfast.wait w where w.event = p_name order by w.job_id) as w
            join holdfast.job j on j.id = any (array[w.job_id])
           where j.status = 'WAITING' and j.claim_order is null and (p_tenant is null or j.tenant = p_tenant)
             and j.due_at is not distinct from w.until   -- else it has been woken, and waits for something else now
             and (w.until is null or w.until > v_now)   -- by its time too: who is due since then keeps his place
           order by w.job_id
             for no key update of j) as l;
  v_count := coalesce(cardinality(v_ids), 0);
  perform holdfast.let_go(v_ids);
  perform holdfast.note(i.id, 'event', p_actor, jsonb_build_object('event', p_name)) from unnest(v_ids) as i (id);
  insert into holdfast.event (name, tenant, payload, emitted_at, emitted_by, token, woke)
  values (p_name, p_tenant, coalesce(p_payload, 'null'), v_now, coalesce(p_actor, holdfast.actor()), p_token, v_count);
  return v_count;
end $$;

-- Whether one of these jobs waits for this one, be it through others, and none of them would ever give up.
create or replace function holdfast.is_awaited_by(p_job uuid, p_ids uuid[]) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  with recursive chain as (
    select i.id from unnest(p_ids) as i (id)
    union
    select d.needs
      from chain c
      join holdfast.wait w on w.job_id = any (array[c.id]) and w.remaining > 0 and w.until is null
      join holdfast.dependency d on d.job_id = w.job_id and d.position <> 0
     where (select n.finished_at is null from holdfast.job n where n.id = d.needs))
  select exists (select from chain c where c.id = p_job)
$$;

-- Every replay of a job reads again what came of those it has waited for: they are kept for it. Its children are so anyway.
-- At position 0 stand those that count for no wait: those that have ended, and those that it waits for no more.
create or replace function holdfast.keep_readable(p_job uuid, p_ids uuid[]) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.dependency (needs, job_id, position, policy)
  select distinct i.id, p_job, 0, 'run' from unnest(p_ids) as i (id)
  on conflict do nothing
$$;

-- All in one order, the waiting one among them, as a cancel locks it and its children (lock_jobs). Nobody holds an awaited job and waits
-- for who asks here: the end of one locks those that wait for it already, and not those that run (tell_followers).
create or replace function holdfast.wait_for_jobs(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_after text, p_ids uuid[], p_timeout float8, p_logs jsonb, p_importance text default null,
  out waits boolean, out timed_out boolean)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_job holdfast.job;
  v_now timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_known bigint;
  v_is_again boolean;
  v_open uuid[];
  v_others uuid[];
begin
  if p_job = any (p_ids) then
    raise exception 'job % cannot wait for itself', p_job using errcode = 'HF005';
  end if;
  select count(*) filter (where l.id <> p_job), array_agg(l.id) filter (where l.finished_at is null and l.id <> p_job),
         array_agg(l.id) filter (where l.parent_id is distinct from p_job and l.id <> p_job)
    into v_known, v_open, v_others
    from (select j.id, j.finished_at, j.parent_id from holdfast.job j where j.id = any (p_ids || p_job)
           order by j.status = 'RUNNING' desc, j.id for no key update) as l;
  if v_known < (select count(distinct i) from unnest(p_ids) as i) then
    raise exception 'job % cannot wait for jobs that do not exist', p_job using errcode = 'HF009';
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  waits := false;
  select (s.value ->> 'timed_out')::boolean into timed_out from holdfast.step s where s.job_id = p_job and s.name = p_name;
  if found then
    return;   -- the answer to the first call was lost
  end if;
  v_now := holdfast.clock();
  select w.since, w.until into v_since, v_until
    from holdfast.wait w
   where w.job_id = p_job and w.step = p_name;
  v_is_again := found;
  if not v_is_again then
    v_since := v_now;
    v_until := v_now + make_interval(secs => p_timeout);
  end if;
  timed_out := v_open is not null and coalesce(v_until <= v_now, false);
  waits := v_open is not null and not timed_out;
  if waits or not v_is_again then
    -- Of another wait, which it gave up when its time came and has not read since: their ends are not for this one, and it may still read them.
    update holdfast.dependency d set position = 0 where d.job_id = p_job and d.position < 0;
  end if;
  if waits and v_until is null and holdfast.is_awaited_by(p_job, v_open) then
    raise exception 'job % cannot wait for jobs that wait for it: they would wait for ever', p_job using errcode = 'HF005';
  end if;
  if waits then
    update holdfast.job j set ties = j.ties | 2 where j.id = any (v_open) and j.ties & 2 = 0;
    insert into holdfast.dependency (needs, job_id, position, policy)
    select o.id, p_job, -min(o.n), 'run'   -- counted downwards: what it was enqueued after counts upwards
      from unnest(p_ids) with ordinality as o (id, n)
     where o.id = any (v_open)
     group by o.id
    on conflict (needs, job_id) do update set position = excluded.position where dependency.position = 0;
    perform holdfast.keep_readable(p_job, v_others);
    insert into holdfast.wait (job_id, step, after, remaining, until, since)
    values (p_job, p_name, p_after, cardinality(v_open), v_until, v_since)
    on conflict (job_id) do update set step = excluded.step, after = excluded.after, event = null, remaining = excluded.remaining,
       until = excluded.until, since = excluded.since;
    perform holdfast.put_aside(v_job, v_until, case when v_until is null then cardinality(v_open) || ' jobs' end,
      format('waits for %s jobs', cardinality(v_open)) || coalesce(' until ' || holdfast.moment(v_until), ''), p_logs);
  else
    delete from holdfast.wait w where w.job_id = p_job;
    delete from holdfast.dependency d where d.job_id = p_job and d.position < 0;
    if not timed_out then   -- or nobody reads what came of them
      perform holdfast.keep_readable(p_job, v_others);
    end if;
    insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
    values (p_job, p_name, 'jobs', p_after, p_attempt, v_since, v_now, jsonb_build_object('timed_out', timed_out), p_importance);
  end if;
end $$;

-- What came of jobs, in the order asked.
create or replace function holdfast.job_outcomes(p_ids uuid[])
returns table (id uuid, status holdfast.job_status, result text, error text)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select i.id, j.status, j.result::text, j.error::text
    from unnest(p_ids) with ordinality as i (id, n)
    left join holdfast.job j on j.id = any (array[i.id])
   order by i.n
$$;

-- Enqueues the children of an attempt and saves the step that did, in one transaction; a replay finds their ids.
create or replace function holdfast.enqueue_children(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_after text, p_jobs jsonb, p_declared jsonb, p_importance text default null) returns uuid[]
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_ids uuid[];
  v_now timestamptz;
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select array(select e.value::uuid from jsonb_array_elements_text(s.value) with ordinality as e (value, n) order by e.n) into v_ids
    from holdfast.step s
   where s.job_id = p_job and s.name = p_name;
  if found then
    return v_ids;   -- the answer to the first call was lost
  end if;
  select array_agg(e.job_id order by e.nth) into v_ids
    from holdfast.enqueue_many((select coalesce(jsonb_agg(c || jsonb_build_object('parent', p_job) order by n), '[]')
                                  from jsonb_array_elements(p_jobs) with ordinality as j (c, n)), p_declared) as e;
  v_now := holdfast.clock();
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
  values (p_job, p_name, 'children', p_after, p_attempt, v_now, v_now, to_jsonb(coalesce(v_ids, '{}')), p_importance);
  return coalesce(v_ids, '{}');
end $$;

-- The jobs that a job was enqueued after, with what came of them, in their order.
create or replace function holdfast.results_of(p_job uuid)
returns table (id uuid, status holdfast.job_status, result text, error text)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.id, j.status, j.result::text, j.error::text
    from holdfast.dependency d
    join holdfast.job j on j.id = any (array[d.needs])
   where d.job_id = p_job and d.position > 0
   order by d.position
$$;
