-- Gates: what people and tasks set in front of the line, and what keeps the line true to it.

-- The place in line that a job leaves, as the time that puts it back there.
create or replace function holdfast.due_of(p_claim_order timestamptz, p_priority int) returns timestamptz
language sql stable parallel safe
return p_claim_order + p_priority * interval '36 seconds';

-- At birth: writes down which keys a job counts towards, and refuses it where a limit does not let it wait.
-- The refusal is exact: whoever enqueues under such a key waits for the others who do, until their transactions end.
create or replace function holdfast.join_limits(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_limit record;
  v_many bigint;
  v_other uuid;
  v_known boolean;
begin
  insert into holdfast.slot (job_id, key)
  select j.id, l.key
    from unnest(p_ids) as b (id)
    join holdfast.job j on j.id = any (array[b.id])
    cross join lateral holdfast.limits_of(j) as l
  on conflict do nothing;
  for v_limit in
    select j.id, j.task, l.key, l.most
      from unnest(p_ids) as b (id)
      join holdfast.job j on j.id = any (array[b.id])
      cross join lateral holdfast.limits_of(j) as l
     where l.policy = 'reject'
     order by l.key collate "C", j.id   -- one order for all
  loop
    -- A snapshot from before the wait would not show who came first.
    if current_setting('transaction_isolation') = 'repeatable read' then
      raise exception 'a limit with the policy reject cannot be kept in a REPEATABLE READ transaction'
        using errcode = 'HF005', hint = 'Enqueue task ' || v_limit.task || ' in a READ COMMITTED or SERIALIZABLE transaction. Nothing was enqueued.';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('holdfast:reject:' || v_limit.key, 0));
    select count(*), (array_agg(o.job_id order by o.job_id = any (p_ids), o.n nulls last, o.job_id))[1] into v_many, v_other
      from (select s.job_id, s.n
              from holdfast.slot s
             where s.key = v_limit.key and s.job_id <> v_limit.id
             order by s.n
             limit v_limit.most) as o;
    if v_many >= v_limit.most then
      -- Tenants may share a limit: whose job it is that fills it is said to who may know.
      v_known := (select holdfast.may_touch(j.tenant) from holdfast.job j where j.id = v_other);
      raise exception 'the limit of % (at most %) is reached: % in the way', v_limit.key, v_limit.most,
          case when v_known then format('job %s is', v_other) else 'other jobs are' end
        using errcode = 'HF012', detail = jsonb_build_object('job', case when v_known then v_other end, 'key', v_limit.key)::text,
              hint = case when v_known then 'Wait for that job''s end, or cancel it.' else 'Try again later.' end || ' Nothing was enqueued.';
    end if;
  end loop;
end $$;

-- Takes a job out of the line again. What has not started gives back what it holds, what has started gives back what it would while it
-- waits: it stood in line with what it had got anew. p_held null: admission decides anew.
create or replace function holdfast.leave_line(p_job holdfast.job, p_held text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_freed text[];
begin
  update holdfast.job j
     set claim_order = null, held_by = p_held, ties = j.ties | case when p_held is null then 1 else 0 end,
         due_at = coalesce(j.due_at, holdfast.due_of(j.claim_order, j.priority))
   where j.id = p_job.id;
  update holdfast.rate_slot r set used_at = '-infinity' where r.job_id = p_job.id and r.used_at is null;
  if p_job.ties & 4 > 0 then
    with given as (
      update holdfast.slot s
         set n = null
       where s.job_id = p_job.id and s.n is not null
         and (p_job.status = 'PENDING'
              or s.key in (select l.key from holdfast.limits_of(p_job) as l where l.release_while_waiting))
      returning s.key)
    select array_agg(g.key) into v_freed from given g;
    if v_freed is not null then
      perform holdfast.offer_slots(v_freed);
    end if;
  end if;
end $$;

-- Takes jobs of paused and switched-off tasks out of the line. Claims pass them over at once; here they make room.
-- Of a long line a part is looked at, as everywhere here: what is beyond it comes with the next look.
create or replace function holdfast.clear_closed(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
declare
  v_closed text[];
  v_job holdfast.job;
  v_held text;
  v_count bigint := 0;
begin
  if not exists (select from holdfast.task t where t.paused_at is not null)
     and not exists (select from holdfast.flag f where not f.enabled or f.percent < 100) then
    return 0;
  end if;
  v_closed := array(select t.name::text from holdfast.task t
                     where holdfast.task_is_paused(t) or (t.options ? 'flag' and holdfast.flag_share(t.options ->> 'flag') < 100));
  for v_job in
    select h.*
      from holdfast.queue q
      cross join lateral (
        (select j.*
           from holdfast.job j
          where j.queue = q.name and j.claim_order is not null and not j.suspect
          limit 10000)
        union all
        (select j.*
           from holdfast.job j
          where j.queue = q.name and j.claim_order is not null and j.suspect
          limit 10000)) as h
     where h.task = any (v_closed)
     limit p_limit
  loop
    perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;
    v_held := holdfast.closed_by(v_job);
    if v_held is not null then
      perform holdfast.leave_line(v_job, v_held);
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end $$;

-- Sends those to admission that came into the line before their task had gates, or their queue a limit.
create or replace function holdfast.clear_line(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
declare
  v_gated text[] := array(select t.name::text from holdfast.task t where t.options ?| array['limits', 'rates', 'flag']);
  v_limited text[] := array(select q.name::text from holdfast.queue q where q.job_limit is not null);
  v_job holdfast.job;
  v_queue text;
  v_found text[] := '{}';
  v_count bigint := holdfast.clear_closed(p_limit);
begin
  if cardinality(v_gated) + cardinality(v_limited) = 0 then
    return v_count;
  end if;
  for v_job in
    select h.*
      from holdfast.queue q
      cross join lateral (
        select j.*
          from holdfast.job j
         where j.queue = q.name and j.claim_order is not null and not j.suspect
         limit 10000) as h
     where (h.ties & 1 = 0 and h.task = any (v_gated) and h.compensates is null)
        or (h.queue = any (v_limited) and not holdfast.has_slot(h.id, 'queue:' || h.queue))
     limit p_limit
  loop
    v_found := v_found || v_job.queue::text;
    perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;
    perform holdfast.leave_line(v_job, null);
    v_count := v_count + 1;
  end loop;
  foreach v_queue in array v_limited loop
    if v_queue = any (v_found) or cardinality(v_found) < p_limit then
      perform holdfast.note_cleared(v_queue, v_queue <> all (v_found));
    end if;
    perform holdfast.count_running(v_queue);
  end loop;
  return v_count;
end $$;

-- Writes down whether the line of a limited queue holds only jobs with slots. What is behind those that were looked at nobody knows yet.
-- Never waits: who limits the queue at this moment has its row, and may wait for jobs of ours.
create or replace function holdfast.note_cleared(p_queue text, p_cleared boolean) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
begin
  perform from holdfast.queue q where q.name = p_queue and q.cleared <> p_cleared for no key update skip locked;
  if found and not (p_cleared and exists (select from holdfast.job j
                                           where j.queue = p_queue and j.claim_order is not null and not j.suspect
                                          offset 10000)) then
    update holdfast.queue q set cleared = p_cleared where q.name = p_queue;
  end if;
end $$;

create or replace function holdfast.has_slot(p_job uuid, p_key text) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.slot s where s.job_id = p_job and s.key = p_key and s.n is not null)
$$;

-- Gives slots to what runs in a limited queue without one, beyond the limit if need be: it counts until it ends.
create or replace function holdfast.count_running(p_queue text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off as $$
declare
  v_ids uuid[];
begin
  select array_agg(r.id::uuid) into v_ids
    from (select j.id
            from holdfast.job j
           where j.holder is not null and j.queue = p_queue and not holdfast.has_slot(j.id, 'queue:' || p_queue)
             for no key update skip locked) as r;
  if v_ids is null then
    return;
  end if;
  -- Waited for with jobs in hand: whoever holds it waits for no job.
  perform pg_advisory_xact_lock(hashtextextended('holdfast:limit:queue:' || p_queue, 0));
  insert into holdfast.slot as s (job_id, key, n)
  select u.id, 'queue:' || p_queue, u.nth + coalesce((select max(o.n) from holdfast.slot o where o.key = 'queue:' || p_queue), 0)
    from unnest(v_ids) with ordinality as u (id, nth)
  on conflict (job_id, key) do update set n = excluded.n;
  update holdfast.job j set ties = j.ties | 5 where j.id = any (v_ids);
end $$;

-- Finds what a mistake or somebody's hand has left behind: slots of jobs that have ended, starts nobody will make, jobs that
-- are parked though there is room. Each sweep looks at a part; it changes nothing where all is well.
create or replace function holdfast.heal(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_held text;
  v_freed text[];
  v_queues text[] := '{}';
  v_reached text;
begin
  select h.reached into v_reached from holdfast.heal h for update skip locked;
  if not found then
    return 0;
  end if;
  with gone as (
    delete from holdfast.slot s
     where s.job_id in (select looked.job_id
                          from (select o.job_id from holdfast.slot o where o.key > v_reached order by o.key limit p_limit) as looked
                         where coalesce((select j.finished_at is not null from holdfast.job j where j.id = looked.job_id), true))
    returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from gone g;
  if v_freed is not null then
    perform holdfast.offer_slots(v_freed);
  end if;
  update holdfast.rate_slot r
     set used_at = coalesce((select j.updated_at from holdfast.job j where j.id = r.job_id and j.status = 'RUNNING'), '-infinity')
   where r.used_at is null
     and (select j.claim_order is not null from holdfast.job j where j.id = r.job_id) is not true;
  for v_try in 1..least(p_limit, 250) loop   -- each key costs an entry of the lock table
    select j.held_by into v_held
      from holdfast.job j
     where j.held_by collate "C" > 'limit:' || v_reached and j.held_by is not null
     order by j.held_by collate "C"
     limit 1;
    v_reached := case when found and v_held like 'limit:%' then substr(v_held, 7) else '' end;
    exit when v_reached = '';
    v_queues := v_queues || holdfast.admit_waiters(v_held, 100);
  end loop;
  insert into holdfast.rate_wait (key, next_at)
  select w.key, holdfast.clock()
    from (select distinct substr(p.held_by, 6) as key
            from (select j.held_by
                    from holdfast.job j
                   where j.held_by collate "C" >= 'rate:' and j.held_by collate "C" < 'rate;' and j.held_by is not null
                   order by j.held_by collate "C"
                   limit p_limit) as p) as w
   where not exists (select from holdfast.rate_wait r where r.key = w.key)
     and pg_try_advisory_xact_lock(hashtextextended('holdfast:rate:' || w.key, 0))   -- who writes it otherwise holds this
  on conflict (key) do nothing;
  update holdfast.heal h set reached = v_reached where h.reached <> v_reached;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues) + coalesce(cardinality(v_freed), 0);
end $$;

create or replace function holdfast.pause_task(p_task text, p_actor text default null, p_reason text default null, p_resume_in interval default null)
returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound(format('task %L', p_task));
  update holdfast.task t
     set paused_at = coalesce(t.paused_at, holdfast.clock()), paused_by = coalesce(p_actor, session_user), pause_reason = p_reason,
         resume_at = holdfast.clock() + p_resume_in
   where t.name = p_task;
  if not found then
    raise exception 'no task is called %', quote_literal(p_task) using errcode = 'HF004', hint = 'holdfast task list shows them.';
  end if;
end $$;

-- Answers whether it was paused. What its jobs waited for is looked at anew: some enter the line here, the others with admission.
create or replace function holdfast.resume_task(p_task text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_was_paused boolean;
begin
  perform holdfast.require_unbound(format('task %L', p_task));
  select t.paused_at is not null into v_was_paused from holdfast.task t where t.name = p_task for no key update;
  if not found then
    raise exception 'no task is called %', quote_literal(p_task) using errcode = 'HF004', hint = 'holdfast task list shows them.';
  end if;
  update holdfast.task t
     set paused_at = null, paused_by = null, pause_reason = null, resume_at = null
   where t.name = p_task and t.paused_at is not null;
  perform holdfast.open_again(100);
  perform holdfast.wake(array(select s.queue from holdfast.sleeper s));
  return v_was_paused;
end $$;

-- Switches a flag; what is null stays as it is (a new flag is on for all).
create or replace function holdfast.set_flag(
  p_flag text, p_enabled boolean, p_percent int default null, p_actor text default null, p_reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound(format('flag %L', p_flag));
  if p_percent not between 0 and 100 then
    raise exception 'a flag is on for 0 to 100 %%, not %', p_percent using errcode = 'HF005';
  end if;
  insert into holdfast.flag as f (name, enabled, percent, set_by, reason)
  values (p_flag, coalesce(p_enabled, true), coalesce(p_percent, 100), coalesce(p_actor, session_user), p_reason)
  on conflict (name) do update
     set enabled = coalesce(p_enabled, f.enabled), percent = coalesce(p_percent, f.percent), set_by = excluded.set_by,
         reason = excluded.reason, at = excluded.at;
  perform holdfast.open_again(100);
  perform holdfast.wake(array(select s.queue from holdfast.sleeper s));
end $$;

-- What processes found in their environment: off always counts, on not against a person who switched it off. Written only where it is another word than the flag's: who enqueues must not wait for who enqueues.
create or replace function holdfast.flags_from_environment(p_tasks jsonb) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.flag as f (name, enabled, set_by)
  select distinct on (d.options ->> 'flag') d.options ->> 'flag', d.flag_is_on, 'environment'
    from jsonb_to_recordset(p_tasks) as d (options jsonb, flag_is_on boolean)
    left join holdfast.flag old on old.name = d.options ->> 'flag'
   where d.flag_is_on is not null and d.options ? 'flag' and old.enabled is distinct from d.flag_is_on
     and (not d.flag_is_on or old.name is null or old.set_by = 'environment')
   order by d.options ->> 'flag'
  on conflict (name) do update set enabled = excluded.enabled, set_by = excluded.set_by, reason = null, at = excluded.at
$$;

-- The flag that these tasks' jobs are parked for is theirs no longer, or asks for another field: nobody would switch it for them.
create or replace function holdfast.leave_flags(p_tasks text[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if cardinality(p_tasks) > 0 then
    update holdfast.job j
       set held_by = null, due_at = coalesce(j.due_at, holdfast.clock())
      from (select p.id
              from holdfast.job p
             where p.held_by collate "C" >= 'flag:' and p.held_by collate "C" < 'flag;' and p.held_by is not null and p.task = any (p_tasks)
             order by p.id
               for no key update) as l
     where j.id = any (array[l.id::uuid]) and j.held_by like 'flag:%';
  end if;
end $$;

-- Lets at most so many jobs of a queue run at once, over all workers; null takes the limit away.
create or replace function holdfast.limit_queue(p_queue text, p_most int) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound(format('queue %L', p_queue));
  if p_most not between 1 and 100000 then
    raise exception 'a queue can be limited to 1 to 100,000 jobs at once, not %', p_most
      using errcode = 'HF005', hint = 'To let nothing run, pause the queue.';
  end if;
  insert into holdfast.queue as q (name, job_limit, cleared) values (p_queue, p_most, p_most is null)
  on conflict (name) do update
     set job_limit = excluded.job_limit, cleared = excluded.cleared or (q.cleared and q.job_limit is not null);
  if p_most is not null then
    perform holdfast.count_running(p_queue);
    perform holdfast.clear_line(1000);
  end if;
  perform holdfast.open_again(100);
  perform holdfast.wake(array[p_queue]);
end $$;

-- What holds a job back, as facts for a sentence; null when its held_by says all there is.
create or replace function holdfast.hold_facts(p_job uuid, p_held text) returns jsonb
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select case split_part(p_held, ':', 1)
    when 'limit' then (
      select jsonb_build_object('key', substr(p_held, 7), 'most', (select l.most from holdfast.limits_of(j) as l where l.key = substr(p_held, 7)),
               'taken', count(s.n), 'by', min(s.job_id::text) filter (where s.n = 1 and holdfast.bound_tenant() is null))
        from holdfast.slot s
       where s.key = substr(p_held, 7) and s.n is not null)
    when 'rate' then (
      select jsonb_build_object('key', substr(p_held, 6), 'next_in', extract(epoch from max(w.next_at) - holdfast.clock()))
        from holdfast.rate_wait w
       where w.key = substr(p_held, 6))
    when 'task' then (
      select jsonb_build_object('by', coalesce(t.paused_by, '?'), 'reason', t.pause_reason, 'ago', extract(epoch from holdfast.clock() - t.paused_at),
               'resumes_in', extract(epoch from t.resume_at - holdfast.clock()))
        from holdfast.task t
       where t.name = substr(p_held, 6) and t.paused_at is not null)
    when 'flag' then (
      select jsonb_build_object('flag', f.name, 'share', holdfast.flag_share(f.name), 'by', f.set_by, 'reason', f.reason)
        from holdfast.flag f
       where f.name = (select t.options ->> 'flag' from holdfast.task t where t.name = j.task))
    end
    from holdfast.job j
   where j.id = p_job and holdfast.may_touch(j.tenant)
$$;
