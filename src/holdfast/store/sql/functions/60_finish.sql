-- Finish: every write shows the fence (claim id and attempt); a stale attempt is told so and writes nothing.
-- A row that somebody keeps locked must not hold up the others of its batch: after two seconds the caller writes one by one.

-- Completes many attempts; answers with those it did not, and where they are now. A repeat by the same attempt is a success.
create or replace function holdfast.complete(
  p_worker uuid, p_ids uuid[], p_attempts int[], p_claim_ids uuid[], p_results text[], p_logs text[] default null)
returns table (id uuid, status holdfast.job_status)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_done bigint;
  v_name text;
  v_now timestamptz := holdfast.clock();
  v_xid bigint := pg_current_xact_id()::text::bigint;
  v_actor text;
  v_said bytea;
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  perform set_config('holdfast.actor', coalesce(v_name, p_worker::text), true);
  v_actor := holdfast.actor();
  v_said := holdfast.said('COMPLETED', v_now, v_xid, v_actor, null, null);
  -- Nested loops only, from the sorted outcomes: rows are locked in the order of their ids, as everywhere, so that two
  -- finishers with common jobs wait for each other and do not deadlock.
  update holdfast.job j
     set status = 'COMPLETED', came_from = 'RUNNING', seq = j.seq + 1, updated_at = v_now, finished_at = v_now,
         result = o.result::jsonb, holder = null, deadline_at = null, suspect = false,
         chain = holdfast.linked(j.chain, j.started_at,
                   case when j.reason is null then v_said else holdfast.said('COMPLETED', v_now, v_xid, v_actor, j.reason, null) end)
    from (select * from unnest(p_ids, p_attempts, p_claim_ids, p_results) as u (id, attempt, claim_id, result) order by u.id) as o
   where j.id = any (array[o.id])
     and j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id
     -- An attempt that handed its job over to an executor no longer speaks for it. Not "=": the planner would read all that the worker holds.
     and j.holder is not distinct from p_worker;
  get diagnostics v_done = row_count;
  if p_logs is not null then
    insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)
    select o.id, o.attempt, coalesce(v_name, p_worker::text), 'completed', o.logs::jsonb
      from unnest(p_ids, p_attempts, p_claim_ids, p_logs) as o (id, attempt, claim_id, logs)
     where o.logs is not null
       -- A subquery, not a join: no statistics can talk the planner into reading all COMPLETED jobs.
       and (select j.status = 'COMPLETED' and j.attempt = o.attempt and j.claim_id = o.claim_id from holdfast.job j where j.id = o.id)
    on conflict do nothing;
    perform holdfast.forget_log_parts(array_agg(o.id), array_agg(o.attempt))
       from unnest(p_ids, p_attempts, p_logs) as o (id, attempt, logs)
      where o.logs is not null
     having count(*) > 0;
  end if;
  if v_done < cardinality(p_ids) then
    return query
      select o.id, j.status
        from unnest(p_ids, p_attempts, p_claim_ids) as o (id, attempt, claim_id)
        left join holdfast.job j on j.id = any (array[o.id])
       where (j.status, j.attempt, j.claim_id) is distinct from ('COMPLETED', o.attempt, o.claim_id);
  end if;
end $$;

create or replace function holdfast.unknown_outcome(p_outcome text) returns text
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  raise exception 'outcome % is not one of failed, crashed, released, cancelled', quote_nullable(p_outcome) using errcode = 'HF005';
end $$;

-- Ends attempts in any other way. p_settlements: an array of {"id", "attempt", "claim_id", "outcome", "error", "delay"
-- (seconds), "recoverable", "reason", "logs", "runs_on"} with outcome
--   failed     the task's fault: RETRY while it is recoverable and retries are left, else FAILED
--   crashed    it took its process with it: RETRY, counted apart, FAILED at the task's crash cap
--   released   the worker gave it back unharmed: RETRY at once, counted as nothing
--   cancelled  the task cancelled itself
-- An attempt that runs on timed out in a thread, which nobody can end: what undoes it waits until its worker has acknowledged the stop.
-- Answers as complete does, with the status each job has now; "recorded" says whether this attempt wrote it.
create or replace function holdfast.settle(p_worker uuid, p_settlements jsonb)
returns table (id uuid, status holdfast.job_status, recorded boolean)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_now timestamptz := holdfast.clock();
  v_name text;
  v_moved uuid[];
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  v_name := coalesce(v_name, p_worker::text);
  perform set_config('holdfast.actor', v_name, true);
  perform set_config('holdfast.running_on', coalesce(string_agg(o ->> 'id', ','), ''), true)
     from jsonb_array_elements(p_settlements) as o
    where (o ->> 'runs_on')::boolean;
  with outcome as materialized (
    select o.id, o.attempt, o.claim_id, o.outcome, o.error, o.delay, o.reason, o.logs, coalesce(o.recoverable, true) as recoverable
      from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, claim_id uuid, outcome text, error jsonb, delay float8,
             recoverable boolean, reason text, logs jsonb)),
  mine as materialized (
    select o.*, j.retry_count, j.crash_count,
           case o.outcome
             when 'cancelled' then 'CANCELLED'
             when 'released' then 'RETRY'
             when 'crashed' then case when j.crash_count + 1 < coalesce(t.crash_cap, 3) then 'RETRY' else 'FAILED' end
             when 'failed' then case when o.recoverable and j.retry_count < j.max_retries then 'RETRY' else 'FAILED' end
             else holdfast.unknown_outcome(o.outcome)
           end::holdfast.job_status as to_status
      from outcome o
      join holdfast.job j on j.id = any (array[o.id])
      left join holdfast.task t on t.name = j.task
     where j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker
     order by o.id
       for no key update of j),
  moved as (
    update holdfast.job j
       set status = m.to_status,
           holder = null,
           deadline_at = null,
           suspect = m.to_status = 'RETRY' and (m.outcome = 'crashed' or (m.outcome = 'released' and j.suspect)),
           retry_count = m.retry_count + (m.outcome = 'failed' and m.to_status = 'RETRY')::int,
           crash_count = m.crash_count + (m.outcome = 'crashed')::int,
           due_at = case when m.to_status = 'RETRY' then v_now + make_interval(secs => coalesce(m.delay, 0)) end,
           claim_order = case when m.to_status = 'RETRY' and coalesce(m.delay, 0) <= 0 and j.ties & 1 = 0
                              then holdfast.place_in_line(v_now, j.priority) end,
           error = case when m.outcome = 'released' then j.error else coalesce(m.error, j.error) end,
           reason = m.reason
      from mine m
     where j.id = any (array[m.id])
    returning j.id, j.queue, j.due_at),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error, logs)
    select m.id, m.attempt, v_name, m.outcome, m.error, m.logs
      from mine m
     where m.error is not null or m.logs is not null
    on conflict do nothing),
  woken as (
    select holdfast.wake(array_agg(distinct d.queue)) as done
      from moved d
     where d.due_at <= v_now
    having count(*) > 0)
  select array_agg(d.id) into v_moved from moved d left join woken w on true;
  perform holdfast.forget_log_parts(array_agg(o.id), array_agg(o.attempt))
     from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, logs jsonb)
    where o.logs is not null
   having count(*) > 0;
  -- A statement of its own: whoever waited for a lock above must see what it waited for.
  return query
  select o.id, j.status,
         o.id = any (coalesce(v_moved, '{}'))
         -- The same attempt has written the same before, and the answer was lost: a success, as for complete.
         or exists (select from holdfast.job_history h
                     where h.job_id = o.id and h.attempt = o.attempt and h.from_status = 'RUNNING' and h.actor = v_name
                       and h.reason is not distinct from o.reason
                       and h.to_status = any (case o.outcome when 'cancelled' then '{CANCELLED}' when 'released' then '{RETRY}'
                                              else '{RETRY,FAILED}' end::holdfast.job_status[]))
    from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, outcome text, reason text)
    left join holdfast.job j on j.id = any (array[o.id]);
end $$;

create or replace function holdfast.lock_job(p_id uuid) returns holdfast.job
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
begin
  select * into v_job from holdfast.job j where j.id = p_id for no key update;
  if not found or not holdfast.may_touch(v_job.tenant) then
    raise exception 'no job has the id %', p_id using errcode = 'HF009';
  end if;
  return v_job;
end $$;

-- The jobs that a cancel of these moves too: what never started and needs one of them or is its child, and so on, is cancelled with it;
-- and who waits for one of all these goes on. Only of jobs that have not ended and that the caller, or the tenant, may touch: nobody waits
-- for a lock of others, nor for one where nothing will move. p_ended: they have just ended, and this is what follows (follow_up).
-- Looked up one by one, as tell_followers does.
drop function if exists holdfast.doomed_with(uuid[]);
drop function if exists holdfast.moved_with(uuid[]);
create or replace function holdfast.moved_with(p_ids uuid[], p_tenant text default null, p_ended boolean default false) returns setof uuid
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
begin
  return query
  with recursive doomed as (
    select i.id
      from unnest(p_ids) as i (id)
     where (select (p_ended or j.finished_at is null) and (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = i.id)
    union
    select f.id
      from doomed x
      cross join lateral (
        select d.job_id as id from holdfast.dependency d where d.needs = x.id and d.policy = 'cancel'
        union all
        select c.id::uuid
          from holdfast.job c
         where c.parent_id = x.id and c.status = 'PENDING'
           and (select p.status <> 'FAILED' from holdfast.job p where p.id = x.id)   -- which leaves its children alone
        offset 0) as f
     where (select j.status = 'PENDING' from holdfast.job j where j.id = f.id))
  select x.id from doomed x where x.id <> all (p_ids)
  union
  select d.job_id
    from doomed x
    join holdfast.dependency d on d.needs = x.id and d.position <> 0
   where (select j.status in ('PENDING', 'WAITING') from holdfast.job j where j.id = d.job_id);
end $$;

-- For whoever changes several jobs in one transaction: locks them all, those that run first and each kind in the order of ids, and then
-- what they hold of limits. An end has its job, which ran, and comes for who waits for it: nobody must have that and come for what runs.
-- What is done to one may lock a job that waits for its slot, or keep the slots of a full key: nobody must wait with that in hand.
-- p_with are others that will be locked for them, when they are cancelled: a child's cancel comes for its waiting parent, and the parent's
-- for the child. One that comes to be meanwhile is not among them, nor one that begins to run meanwhile: a deadlock with these ends one of
-- the two, which is tried again.
drop function if exists holdfast.lock_jobs(uuid[], text);
create or replace function holdfast.lock_jobs(p_ids uuid[], p_tenant text default null, p_with uuid[] default '{}') returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
begin
  perform from holdfast.job j
    where j.id = any (p_ids || p_with)
      -- The second for few: it looks through p_with for each of them.
      and (((p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant)) or j.id = any (p_with))
    order by j.status = 'RUNNING' desc, j.id
      for no key update;
  perform from holdfast.slot s
    where s.job_id = any (p_ids)
      -- No exists, of which the planner would make a join that begins with all jobs.
      and (select (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = s.job_id)
    order by s.job_id, s.key
      for update;
end $$;

-- CANCELLED at once; whoever runs it is told, and what it writes afterwards is refused by the fence.
create or replace function holdfast.cancel(p_id uuid, p_actor text default null, p_reason text default null) returns holdfast.job_status
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_job holdfast.job;
begin
  perform holdfast.lock_jobs(array[p_id], null, array(select m from holdfast.moved_with(array[p_id]) as m));
  v_job := holdfast.lock_job(p_id);
  if v_job.status = 'CANCELLED' then
    return v_job.status;
  end if;
  if holdfast.is_terminal(v_job.status) then
    raise exception 'job % is % and cannot be cancelled any more', p_id, v_job.status using errcode = 'HF001';
  end if;
  perform set_config('holdfast.actor', coalesce(p_actor, ''), true);
  update holdfast.job j
     set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null, holder = null, deadline_at = null,
         approval_id = null, suspect = false, reason = coalesce(p_reason, 'cancelled')
   where j.id = p_id;
  if v_job.status = 'RUNNING' then
    perform pg_notify('holdfast_cancel', p_id::text);
  end if;
  perform set_config('holdfast.actor', '', true);   -- what follows in the caller's transaction is not this actor's doing
  return 'CANCELLED';
end $$;

-- A person's retry of a FAILED job is a new job that names it; the old row and its history stay as they were.
create or replace function holdfast.retry(p_id uuid, p_actor text default null, p_reason text default null, p_new_id uuid default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  -- Each job is looked up by an index: a plan made while the table was small would read all of it for each of an operation's retries.
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_old holdfast.job := holdfast.lock_job(p_id);
  v_task holdfast.task;
  v_now timestamptz := holdfast.clock();
  v_new uuid := coalesce(p_new_id, holdfast.new_id());
  v_other uuid;
  v_count bigint;
  v_undo holdfast.job;
  v_hold text;
  v_gated boolean := v_old.compensates is null and holdfast.is_gated(v_old.task, v_old.queue);
begin
  select j.id into v_other from holdfast.job j where j.retry_of = p_id;
  if found then
    if v_other = p_new_id then
      return v_other;   -- the answer to the first call was lost
    end if;
    raise exception 'job % was already retried as %', p_id, v_other using errcode = 'HF008', hint = 'If that one failed too, retry it instead.';
  end if;
  -- What its failure left behind is undone first: the new job waits, or is refused when nobody is at it any more.
  -- Of compensations the one that nobody has retried: ids come from more than one clock, and a retry's may be the smaller.
  select * into v_undo
    from holdfast.job j
   where j.compensates = p_id and not exists (select from holdfast.job r where r.retry_of = j.id)
   order by j.id desc
   limit 1
     for no key update;
  if v_undo.status = 'FAILED' then
    raise exception 'job % cannot be retried: its compensation % failed', p_id, v_undo.id
      using errcode = 'HF008', detail = v_undo.id::text, hint = 'Retry the compensation first.';
  end if;
  if v_old.status <> 'FAILED' then
    raise exception 'job % is %; only a FAILED job can be retried', p_id, v_old.status using errcode = 'HF008';
  end if;

  select * into v_task from holdfast.task t where t.name = v_old.task;
  if not found then
    raise exception 'job % cannot be retried: task % is not registered any more', p_id, quote_literal(v_old.task) using errcode = 'HF008';
  end if;
  -- What undoes a job may be retried too, and counts for itself: a clean-up must not use up, nor wait for, what people may retry.
  if v_task.manual_retries_per = 'subject' and v_old.subject is not null and v_old.compensates is null then
    -- Two retries of one subject's jobs at once must not both see the last place under the cap.
    perform pg_advisory_xact_lock(hashtextextended('holdfast:retry:' || coalesce(v_old.tenant, '') || ':' || v_old.subject, 0));
    select count(*) into v_count
      from holdfast.job j
     where j.subject = v_old.subject and j.tenant is not distinct from v_old.tenant and j.retry_of is not null and j.compensates is null;
  else
    with recursive chain as (
      select v_old.retry_of as id where v_old.retry_of is not null
      union all
      select o.retry_of
        from chain
        cross join lateral (select j.retry_of from holdfast.job j where j.id = chain.id limit 1) as o
       where o.retry_of is not null)
    select count(*) into v_count from chain;
  end if;
  if v_count >= v_task.manual_retries then
    raise exception 'job % has been retried by hand % times, the most that task % allows', p_id, v_count, v_task.name using errcode = 'HF008';
  end if;
  if v_old.key is not null then
    update holdfast.job j set key_held = false where j.id = p_id and j.key_held;
    select j.id into v_other
      from holdfast.job j
     where coalesce(j.tenant, '') = coalesce(v_old.tenant, '') and j.task = v_old.task and j.key = v_old.key and j.key_held;
    if found then
      raise exception 'job % cannot be retried: job % holds its key', p_id, v_other using errcode = 'HF008', detail = v_other::text;
    end if;
  end if;

  if exists (select from holdfast.job j where j.id = v_new) then
    raise exception 'job id % is taken by another job', v_new using errcode = 'HF007', hint = 'An id belongs to one job: make a new one.';
  end if;
  perform set_config('holdfast.actor', coalesce(p_actor, ''), true);
  if v_undo.finished_at is null then
    v_hold := 'compensation ' || v_undo.id;
  end if;
  begin
    insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, ties, compensates, retry_of, priority, max_retries, key_held,
           task, queue, tenant, subject, key, key_scope, reason, label, requested_by, trace_parent, timeout, tags, metadata, payload)
    values (v_new, v_now, v_now, case when v_hold is null and not v_gated then holdfast.place_in_line(v_now, v_old.priority) end,
            case when v_hold is null and v_gated then v_now end, v_hold,
            v_gated::int | case when v_old.compensates is not null then 2 else 0 end, v_old.compensates, p_id, v_old.priority, v_old.max_retries, v_old.key is not null, v_old.task,
            v_old.queue, v_old.tenant, v_old.subject, v_old.key, v_old.key_scope, coalesce(p_reason, 'retried by hand'), v_old.label,
            coalesce(p_actor, v_old.requested_by), v_old.trace_parent, v_old.timeout, v_old.tags, v_old.metadata, v_old.payload);
  exception when unique_violation then
    raise exception 'job % cannot be retried: another job took its key at this moment', p_id
      using errcode = 'HF008', hint = 'See what became of that one.';
  end;
  -- What the old one ran after has ended; the new one wants its results too.
  insert into holdfast.dependency (needs, job_id, position, policy)
  select d.needs, v_new, d.position, d.policy from holdfast.dependency d where d.job_id = p_id and d.position > 0;
  if v_gated then
    perform holdfast.join_limits(array[v_new]);
  end if;
  perform set_config('holdfast.actor', '', true);
  perform holdfast.wake(array[v_old.queue]);
  return v_new;
end $$;
