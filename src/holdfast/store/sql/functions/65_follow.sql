-- Follow up: what a job's move sets in motion, in the same transaction. Called only for jobs with ties, and for those that failed or were cancelled.

-- The ties of a job, as bits: 1 gated (enters the line through admission), 2 followed (somebody waits for its end),
-- 4 slotted (holds a limit's slot), 8 rated (its claims are counted), 16 moved (it was in other queues: holdfast.queue_at).
create or replace function holdfast.follow_up(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_ids uuid[] := p_ids;
  v_all uuid[] := '{}';
begin
  -- Its own moves come through here again: the loop takes them in its next round, however long the chain is.
  if current_setting('holdfast.following', true) = 'on' then
    return;
  end if;
  perform set_config('holdfast.following', 'on', true);
  perform holdfast.lock_what_follows(p_ids);
  while v_ids is not null loop
    perform holdfast.stop_runs(v_ids);
    -- Of one that waited, or never started, not a wait for jobs that have not all ended: the last of their ends, which perhaps has it in
    -- hand and comes for the job, removes it. For any other job no end comes, and perhaps saw that it had not ended: it is removed here.
    delete from holdfast.wait w
     where w.job_id = any (v_ids)
       and (select j.status in ('FAILED', 'CANCELLED')
                   and ((w.remaining > 0) is not true or j.came_from not in ('PENDING', 'WAITING'))
              from holdfast.job j
             where j.id = w.job_id);
    perform holdfast.compensate(v_ids);
    perform holdfast.release_retries(v_ids);
    perform holdfast.close_approvals(v_ids);
    v_all := v_all || v_ids;
    v_ids := holdfast.tell_followers(v_ids);
  end loop;
  perform holdfast.raise_alerts(v_all);
  -- Last: it locks jobs that wait for a slot, in no order of ids, and nobody must wait with those in hand. A cancel of a parent may have
  -- this job's follower, the parent, and come for one of those, another child.
  perform holdfast.release_slots(v_all);
  perform set_config('holdfast.following', '', true);
end $$;

-- Where a failure cancels others: these, and whoever waits for one of them, in the order of their ids, as a cancel locks them. One by one
-- a follower would be locked before the parent that waits for it, and a cancel of the parent has that and comes for the follower.
create or replace function holdfast.lock_what_follows(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_ids uuid[];
begin
  select array_agg(e.id) into v_ids
    from unnest(p_ids) as i (id)
    cross join lateral (select j.id, j.status from holdfast.job j where j.id = i.id limit 1) as e
   where e.status in ('FAILED', 'CANCELLED')
     and coalesce((select true from holdfast.dependency d where d.needs = e.id and d.policy = 'cancel' limit 1),
                  -- Children only where their parent is cancelled: nobody who fails waits for who is at a child that goes on.
                  (select true from holdfast.job c where e.status = 'CANCELLED' and c.parent_id = e.id and c.status = 'PENDING' limit 1));
  if v_ids is not null then
    perform from holdfast.job j
      where j.id = any (array(select m from holdfast.moved_with(v_ids, p_ended => true) as m))
      order by j.id
        for no key update;
  end if;
end $$;

-- Tells those who wait for jobs that have ended; answers with the followers that were cancelled for it, whose own followers come next.
create or replace function holdfast.tell_followers(p_ids uuid[]) returns uuid[]
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_cancelled uuid[];
  v_queues text[];
  v_freed uuid[];
begin
  -- Most that fail have neither followers nor children; what follows here may read all jobs while its plan is young.
  if not exists (select from holdfast.dependency d where d.needs = any (p_ids) and d.position <> 0)
     and not exists (select from unnest(p_ids) as i (id) cross join lateral (select from holdfast.job c where c.parent_id = i.id limit 1) as child) then
    return null;
  end if;
  -- What never started is cancelled with what it needs, unless it says otherwise; children only when their parent is cancelled.
  -- Looked up one by one, with a limit that no planner can turn into a join: a plan made while the table was small would read all of it.
  with ended as materialized (
    select p.id, p.status
      from unnest(p_ids) as i (id)
      cross join lateral (select j.id, j.status from holdfast.job j where j.id = i.id limit 1) as p
     where p.status in ('FAILED', 'CANCELLED')),
  doomed as materialized (
    select distinct on (x.job_id) x.job_id, x.needs, x.why
      from (select d.job_id, p.id as needs, format('job %s, which it needs, is %s', p.id, p.status) as why
              from ended p
              join holdfast.dependency d on d.needs = any (array[p.id::uuid])
             where d.policy = 'cancel'
            union all
            select c.id, p.id, format('its parent %s was cancelled', p.id)
              from ended p
              cross join lateral (select c.id from holdfast.job c where c.parent_id = p.id and c.status = 'PENDING' offset 0) as c
             where p.status = 'CANCELLED') as x
     order by x.job_id),
  locked as materialized (
    select j.id, m.needs, m.why
      from (select * from doomed order by job_id) as m
      join holdfast.job j on j.id = any (array[m.job_id])
     where j.status = 'PENDING'
     order by m.job_id   -- not j.id: the planner would read all jobs in that order
       for no key update of j),
  gone as (
    update holdfast.job j
       set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null,
           reason = l.why
      from locked l
     where j.id = any (array[l.id::uuid]) and j.status = 'PENDING'
    returning j.id)
  select array_agg(g.id) into v_cancelled from gone g;

  -- Waits are locked in a statement of their own: what each is for is read below, with it in hand. Else the end of one job would count for
  -- a wait for others that was committed in between.
  perform from holdfast.wait w
    where w.job_id = any (array(
            select d.job_id
              from unnest(p_ids) as i (id)
              cross join lateral (select j.id, j.ties, j.finished_at from holdfast.job j where j.id = i.id limit 1) as p
              join holdfast.dependency d on d.needs = any (array[p.id::uuid]) and d.position <> 0
             where p.ties & 2 > 0 and p.finished_at is not null))
    order by w.job_id
      for no key update;
  with ended as materialized (
    select p.id
      from unnest(p_ids) as i (id)
      cross join lateral (select j.id, j.ties, j.finished_at from holdfast.job j where j.id = i.id limit 1) as p
     where p.ties & 2 > 0 and p.finished_at is not null),
  fewer as (
    select d.job_id, count(*) as n
      from ended e
      join holdfast.dependency d on d.needs = any (array[e.id::uuid]) and d.position <> 0
     group by d.job_id
     order by d.job_id),
  counted as (
    update holdfast.wait w
       set remaining = w.remaining - f.n
      from (select f.job_id, f.n from fewer f join holdfast.wait w on w.job_id = any (array[f.job_id]) order by f.job_id for no key update of w) as f
     where w.job_id = any (array[f.job_id])
    returning w.job_id, w.remaining, w.run_at, w.step, w.until),
  -- A waiting attempt's row stays until the attempt has read it; one that never started, or has ended, needs it no more.
  freed as (
    select c.job_id, c.step, c.until, greatest(c.run_at, v_now) as due from counted c where c.remaining <= 0),
  ready as (
    update holdfast.job j
       set held_by = null, due_at = case when j.ties & 1 = 1 or f.due > v_now then f.due end,
           claim_order = case when j.ties & 1 = 0 and f.due <= v_now then holdfast.place_in_line(v_now, j.priority) end
      -- Not one that runs: it is perhaps about to wait again, with its lock in hand, and waits for ours. It looks itself what has ended.
      from (select f.job_id, f.due, f.until
              from freed f
              join holdfast.job j on j.id = any (array[f.job_id])
             where j.status in ('PENDING', 'WAITING')
             order by f.job_id
               for no key update of j) as f
     where j.id = any (array[f.job_id]) and j.status in ('PENDING', 'WAITING') and j.claim_order is null
       and j.due_at is not distinct from f.until   -- else it has been woken, and waits for something else now
       and (f.until is null or f.until > v_now)   -- by its time too: who is due since then keeps his place
    returning j.queue)
  select (select array_agg(distinct r.queue) from ready r), (select array_agg(f.job_id) from freed f)
    into v_queues, v_freed;
  delete from holdfast.wait w
   where w.job_id = any (v_freed)
     and (w.step is null or (select j.finished_at is not null from holdfast.job j where j.id = w.job_id));
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
  return v_cancelled;
end $$;
