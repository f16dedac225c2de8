-- Compensation: what had succeeded is undone by a job of its own, born in the transaction that failed the other.

-- Called for jobs that have just failed or been cancelled. Most leave nothing to undo.
create or replace function holdfast.compensate(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with ended as materialized (   -- one by one, as tell_followers does
    select p.*
      from unnest(p_ids) as i (id)
      cross join lateral (select j.* from holdfast.job j where j.id = i.id limit 1) as p),
  undone as materialized (
    select j.id, j.task, j.queue, j.priority, j.tenant, j.subject, j.label, j.requested_by, j.trace_parent, j.tags, j.metadata, j.payload, j.timeout,
           j.status, coalesce((o.options ->> 'compensation_retries')::int, 10) as retries,
           coalesce(holdfast.still_held(j.last_holder), holdfast.running_on(j.id, j.last_holder)) as held_by
      from ended j
      cross join lateral (select (select t.options from holdfast.task t where t.name = j.task) as options) as o
     where j.compensates is null and j.attempt > 0
       and (j.status = 'FAILED' or (j.status = 'CANCELLED' and (o.options ->> 'compensate_on_cancel')::boolean))
       and ((o.options ->> 'compensate')::boolean
            or exists (select from holdfast.step s where s.job_id = j.id and s.undoable))
     order by j.id),
  born as (
    insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, ties, compensates, priority, max_retries, task, queue, tenant,
           subject, reason, label, requested_by, trace_parent, timeout, tags, metadata, payload)
    select holdfast.new_id(), v_now, v_now, case when u.held_by is null then holdfast.place_in_line(v_now, u.priority) end,
           -- What runs it may never say that it has stopped: ten minutes are enough for anybody.
           case when u.held_by is not null then v_now + interval '10 minutes' end, u.held_by, 2, u.id, u.priority, u.retries, u.task, u.queue, u.tenant,
           u.subject, format('undoes job %s, which is %s', u.id, u.status), u.label, u.requested_by, u.trace_parent, u.timeout, u.tags, u.metadata, u.payload
      from undone u
    returning case when claim_order is not null then queue end::text as wakes)
  select array_agg(distinct b.wakes) into v_queues from born b;
  perform holdfast.wake(v_queues);
end $$;

-- Whether a job has its payload from p_origin: as a retry of it, or to undo it, be it through others.
create or replace function holdfast.copies_payload_of(p_job uuid, p_origin uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  with recursive source as (
    select j.retry_of, j.compensates from holdfast.job j where j.id = p_job
    union
    select j.retry_of, j.compensates from source s join holdfast.job j on j.id = any (array[s.retry_of, s.compensates]))
  select exists (select from source s where p_origin in (s.retry_of, s.compensates))
$$;

-- What keeps a compensation from starting: who held the job and does not know yet that it is over; null when nobody does.
create or replace function holdfast.still_held(p_holder uuid) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'worker:' || w.id
    from holdfast.worker w
   where w.id = p_holder and w.died_at is null and w.name <> holdfast.actor()   -- who says himself that it failed has stopped
  union all
  select 'run:' || d.id
    from holdfast.dispatch d
   where d.id = p_holder and d.cancel_wanted_at is not null and d.ended_at is null   -- an outside run that was told to stop
$$;

-- The same of an attempt whose worker says that it failed and that its thread has not ended: see settle.
create or replace function holdfast.running_on(p_job uuid, p_holder uuid) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select 'worker:' || p_holder where p_job::text = any (string_to_array(current_setting('holdfast.running_on', true), ','))
$$;

-- What was held back or waited enters the line, or is due for admission.
create or replace function holdfast.let_go(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with free as (
    update holdfast.job j
       set held_by = null, due_at = case when j.ties & 1 = 1 then v_now end,
           claim_order = case when j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end
      from (select j.id from holdfast.job j
             where j.id = any (p_ids) and j.claim_order is null and j.status in ('PENDING', 'WAITING')
             order by j.id
               for no key update) as l
     where j.id = any (array[l.id::uuid])
    returning j.queue)
  select array_agg(distinct f.queue) into v_queues from free f;
  perform holdfast.wake(v_queues);
end $$;

-- A worker says that attempts it had lost have ended: what undoes them may begin.
create or replace function holdfast.acknowledge_stop(p_worker uuid, p_ids uuid[]) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.let_go(array_agg(j.id::uuid))
    from holdfast.job j
   where j.compensates = any (p_ids) and j.held_by = 'worker:' || p_worker
$$;

-- Compensations whose worker died, or that waited long enough.
create or replace function holdfast.release_compensations(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_ids uuid[];
begin
  select array_agg(h.id) into v_ids
    from (select j.id::uuid
            from holdfast.job j
           where j.compensates is not null and j.finished_at is null and j.held_by is not null and j.status = 'PENDING'
             and j.held_by ~ '^(worker|run):'   -- a pause is not ours to end
             and (j.due_at <= holdfast.clock()
                  or exists (select from holdfast.worker w where j.held_by = 'worker:' || w.id and w.died_at is not null))
           order by j.compensates, j.id   -- the order of the index that holds only these
           limit p_limit) as h;
  perform holdfast.let_go(v_ids);
  return coalesce(cardinality(v_ids), 0);
end $$;

-- A retry by hand that waited for a compensation goes on when it is done, or when somebody cancelled it.
create or replace function holdfast.release_retries(p_ids uuid[]) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
  select holdfast.let_go(array_agg(r.id::uuid))
    from holdfast.job c
    join holdfast.job r on r.retry_of = any (array[c.compensates])
   where c.id = any (p_ids) and c.status in ('COMPLETED', 'CANCELLED') and c.compensates is not null
     and r.status = 'PENDING' and r.held_by like 'compensation %'
$$;
