-- Upkeep: what time does to jobs. Any process may run any of it, at any time, several at once.

-- Takes back what dead workers hold. A suspect is charged with the crash when its worker held nothing else that could have caused it, and
-- nothing ran on in its process (a child's death is told by its worker, who lives); the others become suspects.
create or replace function holdfast.return_jobs(p_worker uuid, p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
  v_count bigint;
begin
  with held as materialized (
    select j.id, j.claim_id, w.name as worker, w.stopped_at is not null as said_goodbye, coalesce(t.crash_cap, 3) as crash_cap,
           not w.runs_on and not exists (select from holdfast.job beside where beside.holder = w.id and not beside.suspect) as alone
      from holdfast.worker w
      join holdfast.job j on j.holder = w.id
      left join holdfast.task t on t.name = j.task
     where w.died_at is not null and (p_worker is null or w.id = p_worker)
     order by j.suspect desc, j.id   -- suspects first: they are judged while what ran beside them is still in the books
     limit p_limit
       for no key update of j skip locked),
  judged as materialized (
    select h.*, j.suspect and h.alone and not h.said_goodbye as charged,
           (j.suspect and h.alone and not h.said_goodbye and j.crash_count + 1 >= h.crash_cap) as condemned
      from held h
      join holdfast.job j on j.id = any (array[h.id::uuid])),
  back as (
    update holdfast.job j
       set status = case when g.condemned then 'FAILED' else 'RETRY' end::holdfast.job_status,
           holder = null,
           deadline_at = null,
           crash_count = j.crash_count + g.charged::int,
           suspect = not g.condemned and (j.suspect or not g.said_goodbye),
           due_at = case when not g.condemned then v_now end,
           claim_order = case when not g.condemned and j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
           error = case when g.condemned then jsonb_build_object('type', 'WorkerCrashed', 'kind', 'crash', 'recoverable', false,
                          'message', format('its worker died %s times while it ran this job alone: the logs of those workers say what ended them; run it again once that is fixed', j.crash_count + 1)) else j.error end,
           reason = case when g.said_goodbye then 'released: worker ' || g.worker || ' stopped' else 'worker ' || g.worker || ' died' end
      from judged g
     where j.id = any (array[g.id::uuid])
       -- Again: it may have finished, or been taken by another, while we waited for the lock.
       and j.status = 'RUNNING' and j.claim_id = g.claim_id
    returning j.id, j.attempt, j.status, j.queue, g.worker, g.charged, g.said_goodbye),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error)
    select b.id, b.attempt, b.worker, 'crashed', jsonb_build_object('type', 'WorkerDied', 'kind', 'crash', 'recoverable', true,
             'message', format('worker %s died while it ran %s', b.worker, case when b.charged then 'this job apart from all others, so the job is the likely cause'
                                                               else 'this job, and perhaps others; any of them may be the cause, so each runs again apart from the others' end))
      from back b
     where not b.said_goodbye
    on conflict do nothing)
  select count(*), array_agg(distinct queue) filter (where status = 'RETRY') into v_count, v_queues from back;
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
  return v_count;
end $$;

-- Ends attempts that passed their deadline though their worker lives: a hung task is not a dead worker.
create or replace function holdfast.end_overdue(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_count bigint;
begin
  -- Found by having a holder, and put in order afterwards: with both at once the planner may read all jobs in order instead.
  with found as materialized (
    select j.id
      from holdfast.job j
     where j.holder is not null and j.deadline_at < v_now
     limit p_limit),
  overdue as materialized (
    select f.id, j.claim_id, w.name as worker
      from (select * from found order by found.id) as f
      cross join lateral (
        select j.claim_id, j.holder
          from holdfast.job j
         where j.id = f.id and j.deadline_at < v_now
           for no key update skip locked) as j
      left join holdfast.worker w on w.id = j.holder),
  ended as (
    update holdfast.job j
       set status = case when j.retry_count < j.max_retries then 'RETRY' else 'FAILED' end::holdfast.job_status,
           holder = null,
           deadline_at = null,
           suspect = false,
           retry_count = j.retry_count + (j.retry_count < j.max_retries)::int,
           due_at = case when j.retry_count < j.max_retries then v_now + least(interval '5 minutes', interval '1 second' * 2 ^ least(j.retry_count, 9)) end,
           error = jsonb_build_object('type', 'DeadlinePassed', 'kind', 'timeout', 'recoverable', true,
                     'message', format('attempt %s did not end within its timeout of %s', j.attempt, j.timeout)),
           reason = 'deadline passed'
      from overdue o
     where j.id = any (array[o.id::uuid]) and j.status = 'RUNNING' and j.claim_id = o.claim_id and j.deadline_at < v_now
    returning j.id, j.attempt, j.error, o.worker),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error)
    select e.id, e.attempt, coalesce(e.worker, '?'), 'failed', e.error from ended e
    on conflict do nothing),
  told as (
    select pg_notify('holdfast_cancel', e.id::text) from ended e)
  select count(*) into v_count from told;
  return v_count;
end $$;

-- Finds silent workers, overdue attempts, and jobs that are in the line or out of it by mistake; answers what it did. Safe in any number of processes.
-- The settings leave the indexes: a plan made while the table was small would read all of it with every sweep.
create or replace function holdfast.sweep(p_limit int default 1000, out died bigint, out returned bigint, out overdue bigint, out expired bigint)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
begin
  perform set_config('holdfast.actor', 'sweeper', true);
  with silent as (
    update holdfast.worker w
       set died_at = holdfast.clock()
     where w.died_at is null
       -- A server that has just started heard nobody: whoever lives has a lease's time to say so.
       and greatest(w.seen_at, pg_postmaster_start_time()) + w.lease < holdfast.clock()
    returning w.id),
  awake as (
    delete from holdfast.sleeper s using silent where s.worker_id = silent.id)
  select count(*) into died from silent;
  returned := holdfast.return_jobs(null, p_limit);
  overdue := holdfast.end_overdue(p_limit) + holdfast.check_runs(p_limit);
  perform holdfast.release_compensations(p_limit);
  perform holdfast.clear_line(p_limit);
  perform holdfast.heal(p_limit);
  expired := holdfast.expire_approvals(p_limit);
end $$;

create or replace function holdfast.ensure_history_partition(p_month timestamptz) returns boolean
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_name text := 'job_history_' || to_char(p_month at time zone 'UTC', 'YYYYMM');
  v_from uuid := holdfast.uuid_at(p_month);
  v_to uuid := holdfast.uuid_at(p_month + interval '1 month');
begin
  if to_regclass('holdfast.' || v_name) is not null then
    return false;
  end if;
  -- A default partition with rows of this month refuses the attach; they stay where they are and are found there.
  if exists (select from holdfast.job_history_rest r where r.job_id >= v_from and r.job_id < v_to) then
    return false;
  end if;
  execute format('create table holdfast.%I (like holdfast.job_history including all)', v_name);
  execute format('alter table holdfast.job_history attach partition holdfast.%I for values from (%L) to (%L)', v_name, v_from, v_to);
  perform holdfast.guard_history_partition(('holdfast.' || v_name)::regclass);
  perform holdfast.bind_to_tenants(('holdfast.' || v_name)::regclass, 'false');
  return true;
end $$;

-- Months ahead, and without keeping anybody waiting: a busy table is tried again by the next upkeep.
create or replace function holdfast.ensure_history_partitions(p_months_ahead int default 3) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp set timezone = 'UTC' set lock_timeout = '2s' as $$
declare
  v_month timestamptz;
  v_made bigint := 0;
begin
  for v_month in
    select generate_series(date_trunc('month', holdfast.clock()), date_trunc('month', holdfast.clock()) + make_interval(months => p_months_ahead), interval '1 month')
  loop
    begin
      v_made := v_made + holdfast.ensure_history_partition(v_month)::int;
    exception when lock_not_available then
      raise warning 'history partition of % not made: the table is busy; the next upkeep tries again', v_month;
    end;
  end loop;
  return v_made;
end $$;

-- All writers of history queue behind a lock on the whole table, even one that is only waited for: so it is waited for briefly.
create or replace function holdfast.drop_empty_history_partitions() returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp set lock_timeout = '100ms' as $$
declare
  v_name text;
  v_empty boolean;
  v_dropped bigint := 0;
begin
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'holdfast.job_history'::regclass
       and c.relname ~ '^job_history_\d{6}$'
       and c.relname < 'job_history_' || to_char((holdfast.clock() - interval '1 month') at time zone 'UTC', 'YYYYMM')
  loop
    begin
      execute format('select not exists (select from holdfast.%I)', v_name) into v_empty;
      if v_empty then
        -- The table before its partition, as every writer locks them, and looked at again: a job of that month may have moved.
        lock table only holdfast.job_history in access exclusive mode;
        execute format('lock table holdfast.%I in access exclusive mode', v_name);
        execute format('select not exists (select from holdfast.%I)', v_name) into v_empty;
        if v_empty then
          execute format('drop table holdfast.%I', v_name);
          v_dropped := v_dropped + 1;
        end if;
      end if;
    exception when lock_not_available then
      raise warning 'history partition % not dropped: it is busy; the next upkeep tries again', v_name;
      return v_dropped;
    end;
  end loop;
  return v_dropped;
end $$;

-- Whether what a job did is still to be undone: by a compensation that has not ended, or by a retry of one that failed. The job is
-- replayed for that, and finds again what it had found: its children, what it ran after and what it waited for.
create or replace function holdfast.is_to_be_undone(p_job uuid) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.job c
                  where c.compensates = p_job
                    and (c.finished_at is null
                         or (c.status = 'FAILED' and not exists (select from holdfast.job r where r.retry_of = c.id))))
$$;

-- Whether a job that has not ended, or can still be retried, needs to find this one: its results, its steps, or itself. Or
-- whether a run of it is still to be told to stop; an executor that nobody has called for a month is called by nobody.
-- A retry that waits for a compensation goes on when that is done: one that failed is there to be retried.
-- A FAILED job that nobody has retried may be, and its retry reads what came of the jobs that it ran after. Its retry, in turn, is
-- what says that it was retried: while the one is there the other is, or a second retry would do or undo everything once more.
create or replace function holdfast.is_needed(p_job uuid, p_parent uuid) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.job r where r.retry_of = p_job and r.finished_at is null)
      or exists (select from holdfast.job c where c.compensates = p_job and c.status not in ('COMPLETED', 'CANCELLED'))
      or exists (select from holdfast.job c join holdfast.job r on r.retry_of = any (array[c.compensates])
                  where c.id = p_job and c.status = 'FAILED' and r.finished_at is null)
      or exists (select from holdfast.dependency d join holdfast.job f on f.id = any (array[d.job_id])
                  where d.needs = p_job
                    and (f.finished_at is null
                         or (d.position > 0 and f.status = 'FAILED' and not exists (select from holdfast.job r where r.retry_of = f.id))
                         or (f.status <> 'COMPLETED' and holdfast.is_to_be_undone(f.id))))
      or exists (select from holdfast.job r join holdfast.job o on o.id = any (array[r.retry_of]) where r.id = p_job)
      or exists (select from holdfast.job p
                  where p.id = p_parent and (p.finished_at is null or (p.status <> 'COMPLETED' and holdfast.is_to_be_undone(p.id))))
      or exists (select from holdfast.dispatch d
                  where d.job_id = p_job and d.next_try_at is not null and d.cancel_wanted_at > holdfast.clock() - interval '30 days')
$$;

-- Removes jobs that the caller has locked, with all that belongs to them; the caller has said so for its transaction (guard_removal).
create or replace function holdfast.remove_jobs(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  delete from holdfast.dispatch d where d.job_id = any (p_ids);
  delete from holdfast.callback_nonce n where n.job_id = any (p_ids);
  delete from holdfast.attempt a where a.job_id = any (p_ids);
  delete from holdfast.log_part l where l.job_id = any (p_ids);
  delete from holdfast.step s where s.job_id = any (p_ids);
  delete from holdfast.checkpoint c where c.job_id = any (p_ids);
  delete from holdfast.progress p where p.job_id = any (p_ids);
  delete from holdfast.activity a where a.job_id = any (p_ids);
  delete from holdfast.wait w where w.job_id = any (p_ids);
  delete from holdfast.dependency d where d.job_id = any (p_ids) or d.needs = any (p_ids);
  delete from holdfast.job_history h where h.job_id = any (p_ids);
  perform holdfast.remove_approvals(p_ids);
  delete from holdfast.job j where j.id = any (p_ids);
end $$;

-- Removes finished jobs that are older than their task's retention, with all that belongs to them.
create or replace function holdfast.apply_retention(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_task record;
  v_ids uuid[];
  v_count bigint := 0;
begin
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  -- In any order, ever another: behind a task of which there is always more the others would never have their turn.
  for v_task in select t.name, holdfast.clock() - t.retention as cutoff, t.options ? 'keep_failed' as keeps_failed from holdfast.task t where t.retention is not null order by random() loop
    select array_agg(old.id) into v_ids
      from (select j.id
              from holdfast.job j
             where j.task = v_task.name and j.status <> 'RUNNING'
               and j.id < holdfast.uuid_at(v_task.cutoff)   -- older than it finished: the index narrows it down
               and j.finished_at < v_task.cutoff and not (v_task.keeps_failed and j.status = 'FAILED')
               and not holdfast.is_needed(j.id, j.parent_id)
               and not holdfast.awaits_projection(j.id)   -- or usage would lose what it did
             order by j.id
             limit p_limit - v_count
               for update skip locked) as old;
    -- Looked at once more, by a statement that begins with the locks in hand: who ties itself to a job locks it first, and may
    -- have done so and be gone since the one above began to look. One by one: a join would ask it of every job while its plan is young.
    select array_agg(l.id) into v_ids
      from unnest(v_ids) as l (id)
     cross join lateral (select j.id, j.parent_id from holdfast.job j where j.id = l.id offset 0) as j
     where not holdfast.is_needed(j.id, j.parent_id);
    if v_ids is not null then
      perform holdfast.remove_jobs(v_ids);
      v_count := v_count + cardinality(v_ids);
    end if;
    exit when v_count >= p_limit;
  end loop;
  perform set_config('holdfast.retention', '', true);
  return v_count;
end $$;

-- Partitions, retention, all that is kept for a time, workers long gone. One process at a time; the others find it busy and answer
-- null. A pass takes so many of each kind at most, and says whether it has left some. What does not take long comes when nothing is
-- left, or when it was not done for ten minutes: whoever never gets to the end of the first must not go without the rest.
-- It is one transaction, and keeps each lock to its end: what takes seconds comes first, and what others wait for last. While storage is
-- measured nothing is held; then the projection is kept still, then those who read history wait for a new month, and all for one that goes.
create or replace function holdfast.keep_up(p_limit int default 5000, out partitions bigint, out removed bigint, out forgotten bigint, out more boolean)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_ran_at timestamptz;
  v_most bigint;
  v_whole boolean;
begin
  select u.ran_at into v_ran_at from holdfast.upkeep u for update skip locked;
  if not found then
    return;
  end if;
  perform holdfast.measure_storage();
  removed := holdfast.apply_retention(p_limit);
  forgotten := 0;
  v_most := greatest(removed, holdfast.forget_nonces(p_limit), holdfast.forget_schedule_runs(p_limit), holdfast.forget_alerts(p_limit),
                     holdfast.forget_webhooks(p_limit));
  v_whole := (p_limit <= v_most and v_ran_at > holdfast.clock() - interval '10 minutes') is not true;   -- null: it was never done
  if v_whole then
    -- A wait's row stays until an attempt has read it: what came since then is what the attempt was woken for.
    delete from holdfast.event e
     where e.emitted_at < holdfast.clock() - interval '30 days'
       and not exists (select from holdfast.wait w
                        where w.event = e.name and w.since <= e.emitted_at
                          and (e.tenant is null or e.tenant = (select j.tenant from holdfast.job j where j.id = w.job_id)));
    delete from holdfast.request r where r.at < holdfast.clock() - interval '24 hours';
    perform holdfast.forget_sessions();
    delete from holdfast.rate_slot r where r.used_at < holdfast.clock() - r.period - interval '1 hour';
    with gone as (
      delete from holdfast.worker w
       where w.died_at < holdfast.clock() - interval '1 day'
         and not exists (select from holdfast.job j where j.holder = w.id)
      returning 1)
    select count(*) into forgotten from gone;
    update holdfast.upkeep set ran_at = holdfast.clock();
  end if;
  v_most := greatest(v_most, holdfast.forget_projected(p_limit));
  more := p_limit <= v_most;
  partitions := holdfast.ensure_history_partitions();
  if v_whole then
    perform holdfast.drop_empty_history_partitions();
  end if;
end $$;

-- One pass, for a scheduler, and for workers that were there before passes said whether there is more.
create or replace function holdfast.upkeep(p_limit int default 5000, out partitions bigint, out removed bigint, out forgotten bigint)
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select k.partitions, k.removed, k.forgotten from holdfast.keep_up(p_limit) as k
$$;

create or replace function holdfast.pause_queue(p_queue text, p_actor text default null, p_reason text default null, p_resume_in interval default null)
returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound(format('queue %L', p_queue));
  insert into holdfast.queue (name, paused_at, paused_by, reason, resume_at)
  values (p_queue, holdfast.clock(), coalesce(p_actor, session_user), p_reason, holdfast.clock() + p_resume_in)
  on conflict (name) do update
     set paused_at = coalesce(queue.paused_at, excluded.paused_at), paused_by = excluded.paused_by,
         reason = excluded.reason, resume_at = excluded.resume_at;
end $$;

create or replace function holdfast.resume_queue(p_queue text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_was_paused boolean;
begin
  perform holdfast.require_unbound(format('queue %L', p_queue));
  select q.paused_at is not null into v_was_paused from holdfast.queue q where q.name = p_queue for update;
  update holdfast.queue q
     set paused_at = null, paused_by = null, reason = null, resume_at = null
   where q.name = p_queue;
  perform holdfast.wake(array[p_queue]);
  return coalesce(v_was_paused, false);
end $$;
