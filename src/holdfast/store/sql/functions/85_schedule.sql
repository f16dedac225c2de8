-- Schedules: any number of workers compute a schedule's times; the database decides which of them fire, once each.

create or replace function holdfast.no_schedule(p_name text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  raise exception 'no schedule is called %', quote_literal(p_name) using errcode = 'HF061', hint = 'holdfast schedule list shows them.';
end $$;

-- Locks a schedule that is the caller's business.
create or replace function holdfast.find_schedule(p_name text) returns holdfast.schedule
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_schedule holdfast.schedule;
begin
  select * into v_schedule from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant') for no key update;
  if not found then
    perform holdfast.no_schedule(p_name);
  end if;
  return v_schedule;
end $$;

-- A definition is {"name", "task", "payload", "options", "cron" or "every" (seconds), "tz", "missed", "overlap"}.
-- New, or with another timing: its times are counted from now on, and none of before is owed.
create or replace function holdfast.put_schedule(p_definition jsonb, p_declared boolean, p_replace boolean) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_anchor timestamptz := date_trunc('second', v_now);
begin
  if not exists (select from holdfast.task t where t.name = p_definition ->> 'task') then
    raise exception 'schedule %: task % is not registered in this database', quote_literal(p_definition ->> 'name'), quote_literal(p_definition ->> 'task')
      using errcode = 'HF004', hint = 'Start a worker that has it (holdfast -a module:app worker), or check the name.';
  end if;
  insert into holdfast.schedule as old (name, task, payload, options, cron, every, tz, anchor, missed, overlap, declared, settled_to, counted_from,
         created_at, updated_at)
  select d.name, d.task, coalesce(d.payload, '{}'), coalesce(d.options, '{}'), d.cron, make_interval(secs => d.every), coalesce(d.tz, 'UTC'), v_anchor,
         coalesce(d.missed, 'one'), coalesce(d.overlap, 'allow'), p_declared, v_now, v_now, v_now, v_now
    from jsonb_to_record(p_definition) as d (name text, task text, payload jsonb, options jsonb, cron text, every float8, tz text, missed text, overlap text)
  on conflict (name) do update
     set task = excluded.task, payload = excluded.payload, options = excluded.options, missed = excluded.missed, overlap = excluded.overlap,
         cron = excluded.cron, every = excluded.every, tz = excluded.tz, declared = excluded.declared, withdrawn_at = null, updated_at = v_now,
         version = old.version + 1,
         anchor = case when old.every is distinct from excluded.every then excluded.anchor else old.anchor end,
         (settled_to, counted_from, next_at) =
                                 (select case when same.timing then old.settled_to else greatest(old.settled_to, v_now) end,
                                         case when same.timing then old.counted_from else greatest(old.settled_to, v_now) end,
                                         case when same.timing then old.next_at end
                                    from (select old.withdrawn_at is null
                                             and (old.cron, old.every, old.tz) is not distinct from (excluded.cron, excluded.every, excluded.tz)) as same (timing))
   where p_replace
     and (old.withdrawn_at is not null
          or (old.task, old.payload, old.options, old.missed, old.overlap, old.cron, old.every, old.tz, old.declared)
             is distinct from
             (excluded.task, excluded.payload, excluded.options, excluded.missed, excluded.overlap, excluded.cron, excluded.every, excluded.tz, excluded.declared));
end $$;

-- A worker says which schedules its code declares. Whoever starts last decides how they are defined; a pause is not touched.
-- Answers the names that belong to schedules made at run time, which code does not take over.
create or replace function holdfast.register_schedules(p_worker uuid, p_definitions jsonb) returns table (taken text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_definition jsonb;
  v_names text[] := '{}';
begin
  for v_definition in select d from jsonb_array_elements(p_definitions) as d order by d ->> 'name' loop
    if exists (select from holdfast.schedule s where s.name = v_definition ->> 'name' and not s.declared) then
      taken := v_definition ->> 'name';
      return next;
    else
      perform holdfast.put_schedule(v_definition, true, true);
      v_names := v_names || (v_definition ->> 'name');
    end if;
  end loop;
  update holdfast.worker w set schedules = v_names where w.id = p_worker and w.schedules is distinct from v_names;
end $$;

-- A repeat of the same is answered as the first; another definition under a name that is taken is refused unless asked for.
create or replace function holdfast.create_schedule(p_definition jsonb, p_replace boolean default false) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_is holdfast.schedule;
begin
  perform holdfast.require_own(p_definition -> 'options' ->> 'tenant', format('schedule %L', p_definition ->> 'name'));
  if holdfast.bound_tenant() is not null and exists (select from holdfast.schedule s where s.name = p_definition ->> 'name') then
    perform holdfast.find_schedule(p_definition ->> 'name');
  end if;
  perform holdfast.put_schedule(p_definition, false, p_replace);
  select * into strict v_is from holdfast.schedule s where s.name = p_definition ->> 'name';
  if v_is.declared
     or (v_is.task, v_is.payload::jsonb, v_is.options::jsonb, v_is.cron, v_is.every, v_is.tz, v_is.missed::text, v_is.overlap::text)
        is distinct from
        (p_definition ->> 'task', coalesce(p_definition -> 'payload', '{}'), coalesce(p_definition -> 'options', '{}'), p_definition ->> 'cron',
         make_interval(secs => (p_definition ->> 'every')::float8), coalesce(p_definition ->> 'tz', 'UTC'),
         coalesce(p_definition ->> 'missed', 'one'), coalesce(p_definition ->> 'overlap', 'allow')) then
    raise exception 'a schedule is called % already%', quote_literal(v_is.name),
        case when v_is.declared then ', declared in code' else ', and it says something else' end
      using errcode = 'HF062', hint = 'Choose another name, delete it first, or create it with replace.';
  end if;
end $$;

-- Changes when a schedule of the run time fires, its policies, and its payload if one is given; the rest stays.
create or replace function holdfast.edit_schedule(p_name text, p_changes jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_is holdfast.schedule := holdfast.find_schedule(p_name);
begin
  if v_is.declared then
    raise exception 'schedule % is declared in code', quote_literal(p_name)
      using errcode = 'HF062', hint = 'Change it there: the next worker that starts brings it.';
  end if;
  perform holdfast.put_schedule(
    jsonb_build_object('name', v_is.name, 'task', v_is.task, 'payload', v_is.payload, 'options', v_is.options) || p_changes, false, true);
end $$;

-- The declared schedules whose time may have come though no living worker declares them, while living workers that have
-- their task say what they declare: their line was taken out of the code. Or the workers that have it are just restarting:
-- is_gone says that none of them was there for a while.
create or replace function holdfast.undeclared_schedules(p_now timestamptz) returns table (name text, is_gone boolean)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select s.name,
         not exists (select from holdfast.worker w where coalesce(w.died_at, p_now) >= p_now - interval '10 minutes' and s.name = any (w.schedules))
    from holdfast.schedule s
   where s.paused_at is null and s.withdrawn_at is null and (s.next_at is null or s.next_at <= p_now) and s.declared
     and exists (select from holdfast.worker w
                  where w.died_at is null and w.seen_at + w.lease >= p_now and s.task = any (w.tasks) and w.schedules is not null)
     and not exists (select from holdfast.worker w
                      where w.died_at is null and w.seen_at + w.lease >= p_now and s.name = any (w.schedules))
$$;

-- Which schedules need a process that can compute their times, and in how many seconds the next one will (null: none known).
create or replace function holdfast.due_schedules(p_limit int, p_except text[] default '{}', out due jsonb, out next_in float8)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_undeclared text[];
  v_gone text[];
begin
  select coalesce(array_agg(u.name), '{}') into v_undeclared from holdfast.undeclared_schedules(v_now) as u;
  if v_undeclared <> '{}' then
    -- Who declares one has it locked, or is done: so they are locked first, and looked at again with the locks in hand.
    select array_agg(l.name) into v_gone
      from (select s.name
              from holdfast.schedule s
             where s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone))
             order by s.name
               for no key update skip locked) as l;
    update holdfast.schedule s
       set withdrawn_at = v_now, updated_at = v_now
     where s.name = any (v_gone)
       and s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone));
  end if;
  select coalesce(jsonb_agg(to_jsonb(d)), '[]') into due
    from (select s.name, s.version, s.cron, extract(epoch from s.every) as every, s.tz, s.anchor, s.missed, s.settled_to, v_now as now
            from holdfast.schedule s
           where s.paused_at is null and s.withdrawn_at is null and (s.next_at is null or s.next_at <= v_now)
             and s.name <> all (p_except) and s.name <> all (v_undeclared)
           order by s.next_at nulls first, s.name
           limit p_limit) as d;
  select extract(epoch from s.next_at - v_now) into next_in
    from holdfast.schedule s
   where s.paused_at is null and s.withdrawn_at is null and s.next_at > v_now and s.next_at < 'infinity'
   order by s.next_at
   limit 1;
end $$;

create or replace function holdfast.job_of_schedule(p_schedule holdfast.schedule, p_id uuid, p_slot timestamptz, p_by text) returns jsonb
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select jsonb_build_object('requested_by', p_by) || p_schedule.options
         || jsonb_build_object('id', p_id, 'task', p_schedule.task, 'payload', p_schedule.payload,
              'metadata', coalesce(p_schedule.options -> 'metadata', '{}')
                          || jsonb_build_object('schedule', p_schedule.name,
                                                'slot', to_char(p_slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')))
$$;

-- Jobs of a schedule that have not ended. A hundred back: under every policy but allow there is one at most.
create or replace function holdfast.open_jobs(p_schedule text) returns setof uuid
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.id
    from (select r.job_id
            from holdfast.schedule_run r
           where r.schedule = p_schedule and r.outcome in ('fired', 'manual')
           order by r.slot desc
           limit 100) as r
    join holdfast.job j on j.id = r.job_id
   where j.finished_at is null
   order by j.id
$$;

-- Decides what becomes of one time, and writes it down together with the job; true when there is a new job.
create or replace function holdfast.fire_slot(p_schedule holdfast.schedule, p_slot timestamptz, p_now timestamptz) returns boolean
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_by text := 'schedule:' || p_schedule.name;
  v_id uuid := holdfast.new_id();
  v_outcome text := 'fired';
  v_detail text;
  v_open uuid;
  v_created boolean := false;
begin
  -- Another decided it, whatever the schedule's row says now: the books may have been set back.
  if exists (select from holdfast.schedule_run r where r.schedule = p_schedule.name and r.slot = p_slot) then
    return false;
  end if;
  if p_schedule.missed = 'skip' and p_slot < p_now - interval '1 minute' then
    v_outcome := 'missed';
    v_id := null;
  end if;
  if v_outcome = 'fired' and p_schedule.overlap <> 'allow' then
    for v_open in select holdfast.open_jobs(p_schedule.name) loop
      if p_schedule.overlap = 'skip' then
        v_outcome := 'overlap';
        v_id := v_open;
        exit;
      end if;
      begin
        perform holdfast.cancel(v_open, v_by, 'replaced by ' || v_id);
      exception when sqlstate 'HF001' then
        null;   -- it ended at this moment, which is as well
      end;
    end loop;
  end if;
  if v_outcome = 'fired' then
    begin
      select e.job_id, e.created into v_id, v_created
        from holdfast.enqueue_many(jsonb_build_array(holdfast.job_of_schedule(p_schedule, v_id, p_slot, v_by))) as e;
      v_outcome := case when v_created then 'fired' else 'duplicate' end;
    exception when others then
      -- A refusal is an answer, and the schedule goes on; anything else is an accident, and is tried again.
      if sqlstate not like 'HF%' and sqlstate not like '22%' and sqlstate not like '23%' then
        raise;
      end if;
      v_outcome := 'refused';
      v_detail := left(sqlerrm, 500);
      v_id := null;
    end;
  end if;
  insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, job_id, actor, detail)
  values (p_schedule.name, p_slot, p_slot, v_outcome, p_now, v_id, v_by, v_detail);
  return v_created;
end $$;

-- Settles the times that a process has found passed (p_slots may fire; of p_times missed ones p_missed has the first and the last), in one transaction with their jobs; answers how many jobs it made, or
-- null when the schedule is not what that process has read: changed, paused, withdrawn, or settled by another meanwhile.
create or replace function holdfast.fire_schedule(
  p_name text, p_version int, p_settled_to timestamptz, p_slots timestamptz[], p_missed timestamptz[], p_times int,
  p_next timestamptz) returns int
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_schedule holdfast.schedule;
  v_all timestamptz[] := p_missed || p_slots;
  v_next timestamptz := coalesce(p_next, 'infinity');
  v_last timestamptz;
  v_slot timestamptz;
  v_fired int := 0;
begin
  select * into v_schedule
    from holdfast.schedule s
   where s.name = p_name and s.version = p_version and s.settled_to = p_settled_to
     and s.paused_at is null and s.withdrawn_at is null
     for no key update skip locked;   -- who holds it is at it
  if not found then
    return null;
  end if;
  select max(a) into v_last from unnest(v_all) as a;
  -- The times come from a process whose rules or clock may be wrong; what cannot be is refused.
  if exists (select from unnest(v_all) as a where a is null or a <= p_settled_to or a > v_now or a <> date_trunc('second', a))
     or v_next <= coalesce(v_last, p_settled_to) then
    raise exception 'schedule %: these times are not due', quote_literal(p_name) using errcode = 'HF005',
      hint = 'Times are whole seconds between the last one that was settled and the database''s clock, and the next one comes after them.';
  end if;
  if cardinality(p_missed) > 0 then
    insert into holdfast.schedule_run (schedule, slot, last_slot, times, outcome, at, actor)
    select p_name, min(m), max(m), p_times, 'missed', v_now, 'schedule:' || p_name from unnest(p_missed) as m
    on conflict (schedule, slot) do nothing;
  end if;
  for v_slot in select distinct a from unnest(p_slots) as a order by a loop
    v_fired := v_fired + holdfast.fire_slot(v_schedule, v_slot, v_now)::int;
  end loop;
  update holdfast.schedule s
     set settled_to = coalesce(v_last, s.settled_to), next_at = v_next, updated_at = v_now
   where s.name = p_name;
  return v_fired;
end $$;

-- A person's own run, now: paused or not, whatever else runs. A repeat with the same id is answered with the same job.
create or replace function holdfast.run_schedule(p_name text, p_actor text default null, p_id uuid default null) returns uuid
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_by text := coalesce(p_actor, session_user);
  v_id uuid := coalesce(p_id, holdfast.new_id());
  v_schedule holdfast.schedule;
  v_slot timestamptz := v_now;
  v_created boolean;
begin
  v_schedule := holdfast.find_schedule(p_name);
  if exists (select from holdfast.job j where j.id = p_id) then
    return p_id;
  end if;
  -- Never a whole second, which may be a time of the schedule's own.
  while v_slot = date_trunc('second', v_slot) or exists (select from holdfast.schedule_run r where r.schedule = p_name and r.slot = v_slot) loop
    v_slot := v_slot + interval '1 microsecond';
  end loop;
  select e.job_id, e.created into v_id, v_created
    from holdfast.enqueue_many(jsonb_build_array(holdfast.job_of_schedule(v_schedule, v_id, v_slot, v_by) || jsonb_build_object('requested_by', v_by))) as e;
  insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, job_id, actor)
  values (p_name, v_slot, v_slot, case when v_created then 'manual' else 'duplicate' end, v_now, v_id, v_by);
  return v_id;
end $$;

create or replace function holdfast.pause_schedule(p_name text, p_actor text default null, p_reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.find_schedule(p_name);
  update holdfast.schedule s
     set paused_at = coalesce(s.paused_at, holdfast.clock()), paused_by = coalesce(p_actor, session_user), reason = p_reason,
         updated_at = holdfast.clock()
   where s.name = p_name;
end $$;

-- What passed during the pause was not meant to run: its times are counted from now on. Answers whether it was paused.
create or replace function holdfast.resume_schedule(p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_was_paused boolean := (holdfast.find_schedule(p_name)).paused_at is not null;
begin
  update holdfast.schedule s
     set paused_at = null, paused_by = null, reason = null, settled_to = greatest(s.settled_to, v_now),
         counted_from = greatest(s.settled_to, v_now), next_at = null, updated_at = v_now
   where s.name = p_name and v_was_paused;
  return v_was_paused;
end $$;

-- What became of its times stays. Code that still declares it makes it anew with the next worker that starts.
create or replace function holdfast.delete_schedule(p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  delete from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant');
  return found;
end $$;

-- Called by upkeep. A quarter is kept; a schedule's rows are younger than its settled_to for a moment only, so none fires twice.
create or replace function holdfast.forget_schedule_runs(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_count bigint;
begin
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  with old as (
    select r.schedule, r.slot
      from holdfast.schedule_run r
     where r.at < holdfast.clock() - interval '90 days'
     order by r.at
     limit p_limit)
  delete from holdfast.schedule_run r using old where r.schedule = old.schedule and r.slot = old.slot;
  get diagnostics v_count = row_count;
  perform set_config('holdfast.retention', '', true);
  return v_count;
end $$;

select holdfast.make_append_only('holdfast.schedule_run', 'schedule_run', 'runs of schedules are');
