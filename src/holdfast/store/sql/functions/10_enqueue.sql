-- Enqueue: one path for one job and for many, from any language, in the caller's own transaction.

create or replace function holdfast.bad_input(p_position bigint, p_problem text) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  raise exception 'job %: %', p_position, p_problem using errcode = 'HF005', hint = 'Nothing was enqueued.';
end $$;

create or replace function holdfast.unknown_task(p_position bigint, p_task text) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  raise exception 'job %: task % is not registered in this database', p_position, quote_literal(p_task)
    using errcode = 'HF004', hint = 'Start a worker that has it (holdfast -a module:app worker), or check the name.';
end $$;

create or replace function holdfast.are_strings(p_list jsonb) returns boolean
language sql immutable parallel safe
return case when jsonb_typeof(p_list) = 'array'
            then not exists (select from jsonb_array_elements(p_list) as e where jsonb_typeof(e) <> 'string')
            else false end;

-- The same for every language: jsonb knows no key order, at any depth.
create or replace function holdfast.key_of(p_payload jsonb, p_fields jsonb) returns text
language sql immutable parallel safe
return 'payload:' || encode(sha256(convert_to(
    case when jsonb_array_length(p_fields) = 0 then p_payload
         else (select jsonb_object_agg(f, p_payload -> f) from jsonb_array_elements_text(p_fields) as f)
    end::text, 'UTF8')), 'hex');

-- A sleeping worker is woken by the commit. Nobody asleep, nobody called: a NOTIFY takes a lock that all commits share.
create or replace function holdfast.wake(p_queues text[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_queue text;
begin
  if current_setting('holdfast.quiet', true) = 'on' then
    return;
  end if;
  for v_queue in select distinct s.queue from holdfast.sleeper s where s.queue = any (p_queues) loop
    perform pg_notify('holdfast_wake', v_queue);
  end loop;
end $$;

-- Definitions are objects with a task's columns; what a definition leaves out gets the usual value.
create or replace function holdfast.definitions(p_tasks jsonb)
returns table (name text, queue text, priority smallint, max_retries smallint, crash_cap smallint, timeout interval, retention interval,
               unique_by jsonb, key_scope text, manual_retries smallint, manual_retries_per text, options jsonb)
language sql stable
begin atomic
  select t.name, coalesce(t.queue, 'default'), coalesce(t.priority, 0::smallint), coalesce(t.max_retries, 3::smallint),
         coalesce(t.crash_cap, 3::smallint), make_interval(secs => t.timeout), make_interval(secs => t.retention), t.unique_by,
         coalesce(t.key_scope, 'active'), coalesce(t.manual_retries, 3::smallint), coalesce(t.manual_retries_per, 'job'),
         coalesce(t.options, '{}')
    from jsonb_to_recordset(p_tasks) as t (name text, queue text, priority smallint, max_retries smallint, crash_cap smallint,
         timeout float8, retention float8, unique_by jsonb, key_scope text, manual_retries smallint, manual_retries_per text,
         options jsonb);
end;

create or replace function holdfast.insert_queues(p_tasks jsonb) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.queue (name)
  select distinct d.queue from holdfast.definitions(p_tasks) as d order by d.queue
  on conflict (name) do nothing
$$;

create or replace function holdfast.register_tasks(p_tasks jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_flags jsonb := (select jsonb_object_agg(t.name, t.options) from holdfast.task t where t.options ? 'flag');
begin
  perform holdfast.flags_from_environment(p_tasks);
  perform holdfast.insert_queues(p_tasks);
  insert into holdfast.task as old (name, queue, priority, max_retries, crash_cap, timeout, retention, unique_by, key_scope,
                                    manual_retries, manual_retries_per, options)
  select d.name, d.queue, d.priority, d.max_retries, d.crash_cap, d.timeout, d.retention, d.unique_by, d.key_scope,
         d.manual_retries, d.manual_retries_per, d.options
    from holdfast.definitions(p_tasks) as d
   order by d.name
  on conflict (name) do update
     set queue = excluded.queue, priority = excluded.priority, max_retries = excluded.max_retries, crash_cap = excluded.crash_cap,
         timeout = excluded.timeout, retention = excluded.retention, unique_by = excluded.unique_by, key_scope = excluded.key_scope,
         manual_retries = excluded.manual_retries, manual_retries_per = excluded.manual_retries_per, options = excluded.options, registered_at = holdfast.clock()
   where (old.queue, old.priority, old.max_retries, old.crash_cap, old.timeout, old.retention, old.unique_by, old.key_scope,
          old.manual_retries, old.manual_retries_per, old.options)
         is distinct from
         (excluded.queue, excluded.priority, excluded.max_retries, excluded.crash_cap, excluded.timeout, excluded.retention,
          excluded.unique_by, excluded.key_scope, excluded.manual_retries, excluded.manual_retries_per, excluded.options);
  perform holdfast.leave_flags(array(select t.name::text from holdfast.task t
                                      where (v_flags -> t.name -> 'flag', v_flags -> t.name -> 'rollout_by')
                                            is distinct from (t.options -> 'flag', t.options -> 'rollout_by') and v_flags ? t.name));
end $$;

-- What a producer knows of its tasks before any worker has started: only what is missing, and never over a worker's word.
create or replace function holdfast.declare_tasks(p_tasks jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_missing jsonb;
begin
  if p_tasks @? '$[*].flag_is_on' then
    perform holdfast.flags_from_environment(p_tasks);
  end if;
  select jsonb_agg(d) into v_missing
    from jsonb_array_elements(p_tasks) as d
   where not exists (select from holdfast.task t where t.name = d ->> 'name');
  if v_missing is not null then
    perform holdfast.insert_queues(v_missing);
    insert into holdfast.task (name, queue, priority, max_retries, crash_cap, timeout, retention, unique_by, key_scope,
                               manual_retries, manual_retries_per, options)
    select d.name, d.queue, d.priority, d.max_retries, d.crash_cap, d.timeout, d.retention, d.unique_by, d.key_scope,
           d.manual_retries, d.manual_retries_per, d.options
      from holdfast.definitions(v_missing) as d
     order by d.name
    on conflict (name) do nothing;
  end if;
end $$;

-- What is wanted, checked and completed with its task's defaults. p_jobs is an array of {"id", "task", "payload", "queue",
-- "priority", "run_at", "run_in" (seconds), "key", "key_scope", "on_conflict" (return | raise | replace), "tenant", "subject",
-- "tags", "label", "metadata", "requested_by", "trace_parent", "max_retries", "timeout" (seconds), "parent" (the job that enqueues it),
-- "after" (ids of jobs it needs), "on_parent_failure" (cancel | run)}; only id, task and payload must be there.
-- A body bound at its creation and without settings: the planner merges it into the insert that reads it.
create or replace function holdfast.wanted(p_jobs jsonb, p_now timestamptz)
returns table (nth bigint, id uuid, run_at timestamptz, priority int, max_retries int, task text, queue text, tenant text, subject text,
               key text, key_scope text, label text, requested_by text, trace_parent text, timeout interval, tags jsonb,
               metadata jsonb, payload jsonb, ties smallint, parent_id uuid, needs_jobs boolean)
language sql stable
begin atomic
  select w.nth,
         w.id,
         coalesce(w.run_at, p_now + make_interval(secs => w.run_in)),
         coalesce(w.priority, t.priority),
         coalesce(w.max_retries, t.max_retries),
         w.task,
         coalesce(w.queue, t.queue),
         w.tenant, w.subject,
         coalesce(w.key, case when t.unique_by is not null then holdfast.key_of(w.payload, t.unique_by) end),
         coalesce(w.key_scope, t.key_scope),
         w.label, w.requested_by, w.trace_parent,
         coalesce(make_interval(secs => w.timeout), t.timeout),
         w.tags, w.metadata, w.payload,
         case when t.options ?| array['limits', 'rates', 'flag']
                or coalesce(w.queue, t.queue) = any (array(select q.name from holdfast.queue q where q.job_limit is not null))
              then 1 else 0 end::smallint,
         w.parent,
         w.after is not null and w.after <> '[]'
    from rows from (jsonb_to_recordset(p_jobs) as (id uuid, task text, payload jsonb, queue text, priority int, run_at timestamptz,
           run_in float8, key text, key_scope text, on_conflict text, tenant text, subject text, tags jsonb, label text, metadata jsonb,
           requested_by text, trace_parent text, max_retries int, timeout float8, parent uuid, after jsonb, on_parent_failure text))
         with ordinality as w (id, task, payload, queue, priority, run_at, run_in, key, key_scope, on_conflict, tenant, subject, tags,
           label, metadata, requested_by, trace_parent, max_retries, timeout, parent, after, on_parent_failure, nth)
    left join holdfast.task t on t.name = w.task
   where case
           when w.task is null then holdfast.bad_input(w.nth, 'it names no task')
           when t.name is null then holdfast.unknown_task(w.nth, w.task)
           when jsonb_typeof(w.payload) is distinct from 'object' then
             holdfast.bad_input(w.nth, format('the payload of %s must be a JSON object, not %s', w.task, coalesce(jsonb_typeof(w.payload), 'missing')))
           -- Written out to be measured, whatever the stored size (3 % of an enqueue): 1e131000 is a dozen bytes stored, 128 KiB read.
           when octet_length(w.payload::text) > 262144 then
             holdfast.bad_input(w.nth, format('the payload of %s has %s bytes; at most 262,144 (256 KiB) fit: store the data elsewhere and enqueue its id', w.task, octet_length(w.payload::text)))
           when w.priority not between -100 and 100 then
             holdfast.bad_input(w.nth, format('priority %s is outside -100 to 100', w.priority))
           when w.max_retries not between 0 and 100 then
             holdfast.bad_input(w.nth, format('max_retries %s is outside 0 to 100', w.max_retries))
           when w.run_at is not null and w.run_in is not null then
             holdfast.bad_input(w.nth, 'give run_at or run_in, not both')
           when not (w.timeout > 0 and w.timeout <= 31536000) then
             holdfast.bad_input(w.nth, format('timeout %s must be more than 0 seconds and at most a year', w.timeout))
           when not (w.run_at >= '1970-01-01' and w.run_at <= p_now + interval '100 years') or not (w.run_in <= 3153600000) then
             holdfast.bad_input(w.nth, 'it must be due within a hundred years')
           when octet_length(w.metadata::text) > 65536 then
             holdfast.bad_input(w.nth, 'metadata may have 65,536 bytes (64 KiB)')
           when greatest(length(w.requested_by), length(w.trace_parent)) > 500 then
             holdfast.bad_input(w.nth, 'requested_by and trace_parent may have 500 characters')
           when w.tags is not null and not holdfast.are_strings(w.tags) then
             holdfast.bad_input(w.nth, 'tags must be a list of strings')
           when jsonb_typeof(w.metadata) <> 'object' then
             holdfast.bad_input(w.nth, 'metadata must be a JSON object')
           when '' in (w.queue, w.tenant, w.subject, w.key) then
             holdfast.bad_input(w.nth, 'queue, tenant, subject and key must not be empty: leave out what it does not have')
           when w.tenant = '*' then
             holdfast.bad_input(w.nth, '* is no tenant: it stands for all of them')
           when greatest(length(w.queue), length(w.tenant)) > 200 or greatest(length(w.subject), length(w.key), length(w.label)) > 500 then
             holdfast.bad_input(w.nth, 'a queue or tenant may have 200 characters, a subject, key or label 500')
           when w.key_scope not in ('active', 'success', 'ever') then
             holdfast.bad_input(w.nth, format('key scope %L is not one of active, success, ever', w.key_scope))
           when w.after is not null and not holdfast.are_strings(w.after) then
             holdfast.bad_input(w.nth, 'after must be a list of job ids')
           when w.on_parent_failure not in ('cancel', 'run') then
             holdfast.bad_input(w.nth, format('on_parent_failure %L is not one of cancel, run', w.on_parent_failure))
           when w.on_conflict not in ('return', 'raise', 'replace') then
             holdfast.bad_input(w.nth, format('on_conflict %L is not one of return, raise, replace', w.on_conflict))
           when w.tenant is not null and exists (select from holdfast.quota q
               where q.tenant = w.tenant and q.reached_until > p_now and (q.task is null or q.task = w.task)) then
             holdfast.refuse_quota(w.nth, w.id, w.tenant, w.task, p_now)
           else true
         end;
end;

create or replace function holdfast.with_ids(p_jobs jsonb) returns jsonb
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', holdfast.new_id()) || one order by nth), '[]')
    from jsonb_array_elements(p_jobs) with ordinality as w (one, nth)
$$;

-- True when a job of p_jobs might not be born: it has a key, or an id that is taken (a repeat after a lost answer).
-- The settings leave the primary keys: a plan made while the table was small would read all of it for every batch.
create or replace function holdfast.might_conflict(p_jobs jsonb) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_hashjoin = off set enable_mergejoin = off as $$
begin
  -- Subqueries that no planner can turn into a join: a plan made while the table was empty would read all of it for every job.
  return p_jobs @? '$[*].key'
      or exists (select from jsonb_to_recordset(p_jobs) as w (task text)
                  where (select t.unique_by from holdfast.task t where t.name = w.task) is not null)
      or exists (select from jsonb_to_recordset(p_jobs) as w (id uuid)
                  where (select j.id from holdfast.job j where j.id = w.id) is not null);
end $$;

-- Whether a call may wait for another with something in hand that the other waits for: a key and then another, or the lock of a limit that
-- refuses; a job that it replaces or runs after. Any other call waits with nothing in hand but ids of its own,
-- for which only calls come that say the same ids in other orders.
create or replace function holdfast.may_deadlock(p_jobs jsonb) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_many boolean := jsonb_array_length(p_jobs) > 1;
begin
  return p_jobs @? '$[*] ? (@.on_conflict == "replace" || exists(@.after[*]))'
      or (v_many and p_jobs @? '$[*].key')
      or exists (select from (select distinct w.task from jsonb_to_recordset(p_jobs) as w (task text)) as w
                  where (select (v_many and t.unique_by is not null) or t.options @? '$.limits[*] ? (@.policy == "reject")'
                           from holdfast.task t
                          where t.name = w.task));
end $$;

-- Enqueues many; answers, in their order, with each job's id and whether this call made it.
-- Its plans are kept: making one anew takes longer than inserting a job.
create or replace function holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb default null)
returns table (nth bigint, job_id uuid, created boolean)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set plan_cache_mode = force_generic_plan as $$
declare
  v_jobs jsonb := p_jobs;
  -- What the transaction had before, it keeps: others may wait for that, and no repeat helps.
  v_most int := case when pg_current_xact_id_if_assigned() is null then 5 else 2 end;
begin
  if jsonb_typeof(p_jobs) is distinct from 'array' then
    raise exception 'enqueue_many takes an array of jobs, not %', coalesce(jsonb_typeof(p_jobs), 'null') using errcode = 'HF005';
  end if;
  if holdfast.bound_tenant() is not null then
    p_jobs := holdfast.own_jobs(p_jobs);
    v_jobs := p_jobs;
  end if;
  if p_declared is not null then
    perform holdfast.declare_tasks(p_declared);
  end if;
  if p_jobs @? '$[*] ? (!exists(@.id))' then
    v_jobs := holdfast.with_ids(p_jobs);
  end if;
  -- No savepoint more than it takes: beyond 64 of them in one transaction, everybody's look at rows costs more.
  if not holdfast.may_deadlock(v_jobs) then
    return query select * from holdfast.try_to_enqueue(v_jobs);
    return;
  end if;
  for v_try in 1..v_most loop
    begin
      return query select * from holdfast.try_to_enqueue(v_jobs);
      return;
    exception when deadlock_detected then
      if v_try = v_most then
        raise;
      end if;
    end;
    -- All that this call held is let go, for whoever waited for it: at once this one would have it again before that one is awake.
    perform pg_sleep(0.01 * v_try);
  end loop;
end $$;

-- The jobs of one call, all with an id. What it has inserted, or replaced, it holds while it settles the rest: so two calls with common keys
-- may wait for each other where a key becomes free in between.
create or replace function holdfast.try_to_enqueue(p_jobs jsonb)
returns table (nth bigint, job_id uuid, created boolean)
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_said bytea := holdfast.said('PENDING', v_now, pg_current_xact_id()::text::bigint, holdfast.actor(), null, null);
  v_many int := jsonb_array_length(p_jobs);
  v_careful boolean;
  v_born bigint;
  v_wakes text[];
  v_gated uuid[];
  v_flows boolean;
  v_made jsonb;
begin
  -- A careful insert leaves out what conflicts, and costs half as much again: a few jobs are quicker inserted so than
  -- looked up first, many are not.
  v_careful := v_many <= 5 or holdfast.might_conflict(p_jobs);
  if not v_careful then
    begin
      with born as (
        insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, priority, max_retries, ties, task, queue, tenant,
               subject, parent_id, label, requested_by, trace_parent, timeout, tags, metadata, payload, chain)
        select w.id, v_now, v_now,
               case when w.run_at > v_now or w.ties > 0 or w.needs_jobs then null else holdfast.place_in_line(v_now, w.priority) end,
               case when w.needs_jobs then null when w.run_at > v_now then w.run_at when w.ties > 0 then v_now end,
               case when w.needs_jobs then 'jobs' end, w.priority, w.max_retries, w.ties, w.task, w.queue, w.tenant,
               w.subject, w.parent_id, w.label, w.requested_by, w.trace_parent, w.timeout, w.tags, w.metadata, w.payload,
               -- A birth that tells more than the others of this call, link_birth links: a sixth of an insert.
               case when w.requested_by is null and not w.needs_jobs and w.ties = 0 and (w.run_at <= v_now) is not false
                    then holdfast.linked(uuid_send(w.id), null, v_said) end
          from holdfast.wanted(p_jobs, v_now) as w
        returning case when job.claim_order is not null or job.due_at = v_now then job.queue end::text as wakes,
                  case when job.ties > 0 then job.id end::uuid as gated, job.held_by is not null as waits)
      select count(*), array_agg(distinct born.wakes), array_agg(born.gated) filter (where born.gated is not null), bool_or(born.waits)
        into v_born, v_wakes, v_gated, v_flows
        from born;
    exception when unique_violation then
      v_careful := true;   -- an id is in it twice, or in a transaction that commits at this moment: the answer to it was lost
    end;
  end if;
  if v_careful then
    with born as (
      insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, priority, max_retries, ties, key_held, task, queue, tenant,
             subject, parent_id, key, key_scope, label, requested_by, trace_parent, timeout, tags, metadata, payload)
      select w.id, v_now, v_now,
             case when w.run_at > v_now or w.ties > 0 or w.needs_jobs then null else holdfast.place_in_line(v_now, w.priority) end,
             case when w.needs_jobs then null when w.run_at > v_now then w.run_at when w.ties > 0 then v_now end,
             case when w.needs_jobs then 'jobs' end, w.priority, w.max_retries, w.ties, w.key is not null, w.task, w.queue, w.tenant,
             w.subject, w.parent_id, w.key, case when w.key is not null then w.key_scope end, w.label, w.requested_by, w.trace_parent, w.timeout,
             w.tags, w.metadata, w.payload
        from holdfast.wanted(p_jobs, v_now) as w
       order by w.tenant, w.task, w.key, w.nth   -- one order for all: two batches with common keys must not deadlock
          on conflict do nothing
      returning case when job.claim_order is not null or job.due_at = v_now then job.queue end::text as wakes,
                case when job.ties > 0 then job.id end::uuid as gated, job.held_by is not null as waits)
    select count(*), array_agg(distinct born.wakes), array_agg(born.gated) filter (where born.gated is not null), bool_or(born.waits)
      into v_born, v_wakes, v_gated, v_flows
      from born;
  end if;
  if v_gated is not null then
    perform holdfast.join_limits(v_gated);
  end if;

  if exists (select from holdfast.sleeper s where s.queue = any (v_wakes)) then
    perform holdfast.wake(v_wakes);
  end if;
  if v_born = v_many then
    if v_flows then
      perform holdfast.join_parents(p_jobs, '{}', v_now);
    end if;
    return query
      select w.nth, (w.one ->> 'id')::uuid, true
        from jsonb_array_elements(p_jobs) with ordinality as w (one, nth);
    return;
  end if;
  if p_jobs @? '$[*] ? (@.on_conflict == "replace")' then
    perform holdfast.lock_replaced(p_jobs);
  end if;
  select jsonb_agg(jsonb_build_object('nth', w.nth, 'asked', w.one ->> 'id', 'job_id', s.job_id, 'created', s.created) order by w.nth) into v_made
    from (select e.nth, e.one
            from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
            join holdfast.task t on t.name = e.one ->> 'task'
           -- The order of the insert above: what gets a key that is free now waits for whoever has just taken it.
           order by e.one ->> 'tenant', t.name, coalesce(e.one ->> 'key', holdfast.key_of(e.one -> 'payload', t.unique_by)), e.nth) as w
    cross join lateral holdfast.settle_conflict((w.one ->> 'id')::uuid, w.one, v_now) as s;
  if v_flows or p_jobs @? '$[*].after[*]' then   -- what was born in place of another is tied too
    perform holdfast.join_parents(p_jobs, (select jsonb_object_agg(m ->> 'asked', m ->> 'job_id') from jsonb_array_elements(v_made) as m), v_now);
  end if;
  return query
    select m.nth, m.job_id, m.created from jsonb_to_recordset(v_made) as m (nth bigint, job_id uuid, created boolean) order by m.nth;
end $$;

-- Refuses what jobs are to run after where it is no id.
create or replace function holdfast.check_after(p_jobs jsonb) returns void
language plpgsql immutable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_jobs @? '$[*].after[*] ? (!(@ like_regex "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$"))' then
    raise exception 'after must be a list of job ids' using errcode = 'HF005', hint = 'Nothing was enqueued.';
  end if;
end $$;

-- Ties jobs that were just born to those they are to run after. p_made: which job stands for one that was not born.
-- Parents are locked in the order of their ids, like jobs everywhere, and learn that somebody waits for their end.
create or replace function holdfast.join_parents(p_jobs jsonb, p_made jsonb, p_now timestamptz) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp set enable_seqscan = off set jit = off as $$
declare
  v_nths bigint[];
  v_jobs uuid[];
  v_needs uuid[];
  v_places int[];
  v_policies text[];
  v_open uuid[];
  v_wrong record;
  v_queues text[];
begin
  perform holdfast.check_after(p_jobs);
  select array_agg(n.nth), array_agg(n.job_id), array_agg(n.needs), array_agg(n.place), array_agg(n.policy)
    into v_nths, v_jobs, v_needs, v_places, v_policies
    from (select distinct on (c.id, r.needs) c.nth, c.id as job_id, r.needs, r.place::int, c.policy
            from (select e.nth, (e.one ->> 'id')::uuid as id, coalesce(e.one ->> 'on_parent_failure', 'cancel') as policy, e.one -> 'after' as after
                    from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
                   where e.one ? 'after') as c
            cross join lateral (select coalesce(p_made ->> a.id, a.id)::uuid as needs, a.place
                                  from jsonb_array_elements_text(c.after) with ordinality as a (id, place)) as r
           where (select j.held_by = 'jobs' from holdfast.job j where j.id = c.id)
             and not exists (select from holdfast.wait w where w.job_id = c.id)
           order by c.id, r.needs, r.place) as n;
  -- A job may need what stands before it in the call, never itself or what stands behind it: so no circle can close.
  with later as materialized (
    select (e.one ->> 'id')::uuid as id, e.nth from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)),
  first as materialized (
    select u.needs, min(u.nth) as nth from unnest(v_nths, v_needs) as u (nth, needs) group by u.needs)
  select f.nth, f.needs into v_wrong from first f join later l on l.id = f.needs where l.nth >= f.nth limit 1;
  if found then
    perform holdfast.bad_input(v_wrong.nth, format('it is to run after job %s, which is itself or comes later in the same call: a cycle', v_wrong.needs));
  end if;
  -- In the order of lock_jobs.
  with parent as materialized (
    select p.id, p.status
      from (select distinct u.needs from unnest(v_needs) as u (needs) order by u.needs) as n
      join holdfast.job p on p.id = any (array[n.needs]) and holdfast.may_touch(p.tenant)
     order by p.status = 'RUNNING' desc, p.id
       for no key update of p)
  select array_agg(p.id::uuid) filter (where not holdfast.is_terminal(p.status)) into v_open from parent p;
  select u.nth, u.needs, p.status into v_wrong
    from unnest(v_nths, v_needs, v_policies) as u (nth, needs, policy)
    left join holdfast.job p on p.id = any (array[u.needs]) and holdfast.may_touch(p.tenant)
   where p.id is null or (p.status in ('FAILED', 'CANCELLED') and u.policy = 'cancel')
   limit 1;
  if found then
    perform holdfast.bad_input(v_wrong.nth, case
      when v_wrong.status is null then format('it is to run after job %s, which does not exist', v_wrong.needs)
      else format('it is to run after job %s, which is %s: it would never start (on_parent_failure=run starts it anyway)', v_wrong.needs, v_wrong.status) end);
  end if;
  insert into holdfast.dependency (needs, job_id, position, policy)
  select u.needs, u.job_id, u.place, u.policy
    from unnest(v_needs, v_jobs, v_places, v_policies) as u (needs, job_id, place, policy);
  update holdfast.job p set ties = p.ties | 2 where p.id = any (v_open) and p.ties & 2 = 0;
  with child as (
    select u.job_id, count(o.id) as remaining
      from unnest(v_jobs, v_needs) as u (job_id, needs)
      left join unnest(v_open) as o (id) on o.id = u.needs
     group by u.job_id),
  told as (
    select c.job_id, c.remaining, w.run_at
      from child c
      join holdfast.wanted(p_jobs, p_now) as w on w.id = c.job_id),
  waiting as (
    insert into holdfast.wait (job_id, remaining, run_at)
    select t.job_id, t.remaining, t.run_at from told t where t.remaining > 0),
  ready as (
    update holdfast.job j
       set held_by = null,
           due_at = case when t.run_at > p_now then t.run_at when j.ties & 1 = 1 then p_now end,
           claim_order = case when j.ties & 1 = 0 and coalesce(t.run_at, p_now) <= p_now then holdfast.place_in_line(p_now, j.priority) end
      from told t
     where j.id = any (array[t.job_id]) and t.remaining = 0
    returning j.queue)
  select array_agg(distinct r.queue::text) into v_queues from ready r;
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
end $$;

-- For a call that replaces jobs: the turns at all its keys, then all that it comes for, in the order of lock_jobs: who holds the keys, also
-- who has started and keeps his, what moves with those that have not, and what its jobs are to run after.
-- Of many who replace one key at once somebody would lose it again and again: each waits its turn. Before any of them locks a holder: who
-- has locked one keeps the lock although it has lost the key, and others with the turn may wait for that row.
create or replace function holdfast.lock_replaced(p_jobs jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_tenants text[];
  v_tasks text[];
  v_keys text[];
  v_held uuid[];
  v_started uuid[];
begin
  perform holdfast.check_after(p_jobs);
  select array_agg(w.tenant), array_agg(w.task), array_agg(w.key) into v_tenants, v_tasks, v_keys
    from (select coalesce(e.one ->> 'tenant', '') as tenant, t.name::text as task,
                 coalesce(e.one ->> 'key', holdfast.key_of(e.one -> 'payload', t.unique_by)) as key
            from jsonb_array_elements(p_jobs) as e (one)
            join holdfast.task t on t.name = e.one ->> 'task'
           where e.one ->> 'on_conflict' = 'replace'
             and (select j.id from holdfast.job j where j.id = (e.one ->> 'id')::uuid) is null) as w;
  perform pg_advisory_xact_lock(o.turn)
     from (select distinct hashtextextended('holdfast:replace:' || w.tenant || ':' || w.task || ':' || w.key, 0) as turn
             from unnest(v_tenants, v_tasks, v_keys) as w (tenant, task, key)
            order by turn) as o;
  select coalesce(array_agg(j.id) filter (where j.status = 'PENDING'), '{}'), array_agg(j.id) filter (where j.status <> 'PENDING')
    into v_held, v_started
    from unnest(v_tenants, v_tasks, v_keys) as w (tenant, task, key)
    join holdfast.job j on coalesce(j.tenant, '') = w.tenant and j.task = w.task and j.key = w.key and j.key_held;
  perform holdfast.lock_jobs(v_held, null,
    array(select m from holdfast.moved_with(v_held) as m
           union
          select s from unnest(v_started) as s
           union
          select n.id
            from (select (a.id #>> '{}')::uuid as id from jsonb_path_query(p_jobs, '$[*].after[*]') as a (id)) as n
           where (select holdfast.may_touch(j.tenant) from holdfast.job j where j.id = n.id)));
end $$;

-- Why a job was not born, and what its caller gets instead: itself (a repeat after a lost answer), the job that holds its
-- key, an error, or a new job in place of one that had not started.
create or replace function holdfast.settle_conflict(p_id uuid, p_wanted jsonb, p_now timestamptz, out job_id uuid, out created boolean)
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_policy text := coalesce(p_wanted ->> 'on_conflict', 'return');
  v_old holdfast.job;
  v_task holdfast.task;
  v_key text;
begin
  select * into v_old from holdfast.job j where j.id = p_id;
  if found then
    if v_old.task is distinct from p_wanted ->> 'task' or v_old.payload is distinct from p_wanted -> 'payload'
       or v_old.tenant is distinct from p_wanted ->> 'tenant' then
      raise exception 'job id % is taken by another job%', p_id, case when holdfast.may_touch(v_old.tenant) then format(' (task %s)', v_old.task) else '' end
        using errcode = 'HF007', hint = 'An id belongs to one job: make a new one.';
    end if;
    job_id := p_id;
    created := v_old.created_at = p_now;
    return;
  end if;

  select * into strict v_task from holdfast.task t where t.name = p_wanted ->> 'task';
  v_key := coalesce(p_wanted ->> 'key', holdfast.key_of(p_wanted -> 'payload', v_task.unique_by));
  for v_try in 1..10 loop
    select * into v_old
      from holdfast.job j
     where coalesce(j.tenant, '') = coalesce(p_wanted ->> 'tenant', '') and j.task = v_task.name and j.key = v_key and j.key_held;
    if found and v_policy = 'replace' then   -- only who changes the holder locks it: a caller may hold on to a lock for long
      select * into v_old from holdfast.job j where j.id = v_old.id and j.key_held for no key update;
    end if;
    if found and v_policy = 'raise' then
      raise exception 'job % (%) already holds the key %', v_old.id, v_old.status, quote_literal(v_key)
        using errcode = 'HF006', detail = v_old.id::text, hint = 'Wait for it, or enqueue with on_conflict=return or replace.';
    elsif found and v_policy = 'replace' and v_old.status = 'PENDING' then
      update holdfast.job j
         set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null, key_held = false, reason = 'replaced by ' || p_id
       where j.id = v_old.id;
    elsif found then
      job_id := v_old.id;
      created := false;
      return;
    end if;
    -- The key is free now: its holder ended meanwhile, or was replaced above.
    select e.job_id, e.created into job_id, created
      from holdfast.enqueue_many(jsonb_build_array(p_wanted - 'after' || jsonb_build_object('id', p_id, 'on_conflict', 'return'))) as e;
    if job_id = p_id then
      -- What it is to run after may itself not be born yet, or another stands for it: the whole call is tied together at its end.
      update holdfast.job j
         set claim_order = null, due_at = null, held_by = 'jobs'
       where j.id = p_id and created and p_wanted @? '$.after[*]';
      return;
    end if;
  end loop;
  raise exception 'key % kept changing hands; try again', quote_literal(v_key) using errcode = '40001';
end $$;

create or replace function holdfast.enqueue(
  p_task text, p_payload jsonb default '{}', p_queue text default null, p_priority int default null,
  p_run_at timestamptz default null, p_run_in interval default null, p_key text default null, p_key_scope text default null,
  p_on_conflict text default null, p_tenant text default null, p_subject text default null, p_tags jsonb default null,
  p_label text default null, p_metadata jsonb default null, p_requested_by text default null, p_id uuid default null,
  p_trace_parent text default null, p_max_retries int default null, p_timeout interval default null)
returns uuid
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select job_id
    from holdfast.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'id', p_id, 'task', p_task, 'queue', p_queue, 'priority', p_priority, 'run_at', p_run_at,
      'run_in', extract(epoch from p_run_in), 'key', p_key, 'key_scope', p_key_scope, 'on_conflict', p_on_conflict,
      'tenant', p_tenant, 'subject', p_subject, 'label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent,
      'max_retries', p_max_retries, 'timeout', extract(epoch from p_timeout)))
      -- Not stripped: a null inside a payload is the payload's own.
      || jsonb_build_object('payload', p_payload, 'tags', p_tags, 'metadata', p_metadata)))
$$;
