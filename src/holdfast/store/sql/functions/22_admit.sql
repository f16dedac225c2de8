-- Admission: who enters the line. A job with gates (ties & 1) comes in only through here, with all it needs or not at all.
--
-- Locks. A job's row comes first, as everywhere. Who takes slots of a key holds the key's advisory lock, and only ever tries
-- for it: nobody waits for a key. Who parks a job because all slots are taken keeps those rows locked (key share) until it
-- commits, so that the end of their jobs waits that long and then sees the parked job; a row that cannot be locked belongs
-- to a job that is ending, and then nothing is parked. Waiters are locked with skip locked. So whoever is waited for here
-- waits for nobody, in whatever order keys come; and a completion never waits for anybody's open transaction.

-- h % 10 is one of ten buckets, the digit above it cuts each bucket in ten: 10 % is bucket 0, 50 % buckets 0 to 4.
create or replace function holdfast.rollout_position(p_key text) returns int
language sql immutable parallel safe
return (('x' || right(md5(p_key), 8))::bit(32)::bigint % 10 * 10 + ('x' || right(md5(p_key), 8))::bit(32)::bigint / 10 % 10)::int;

create or replace function holdfast.rollout_bucket(p_key text) returns int
language sql immutable parallel safe
return (('x' || right(md5(p_key), 8))::bit(32)::bigint % 10)::int;

-- "user:{user_id}" with the payload's own values; tenant and subject come from the job where the payload has no such field.
create or replace function holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) returns text
language sql immutable parallel safe set search_path = pg_catalog, holdfast, pg_temp as $$
  select case when length(k.key) <= 500 then k.key else left(k.key, 400) || ':' || md5(k.key) end
    from (select coalesce(string_agg(
                   case when part[1] not like '{%' then part[1]
                        else coalesce(p_payload ->> btrim(part[1], '{}'),
                                      case part[1] when '{tenant}' then p_tenant when '{subject}' then p_subject end, '')
                   end, '' order by nth), '') as key
            from regexp_matches(p_template, '\{[^{}]*\}|[^{}]+', 'g') with ordinality as m (part, nth)) as k
$$;

-- The limits of one job, in the order of their keys; of two with one key the narrower counts.
-- A compensation is under none of its task's: whoever has the slot now may wait for days, and what is left behind is undone first.
create or replace function holdfast.limits_of(p_job holdfast.job)
returns table (key text, most int, policy text, release_while_waiting boolean)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select distinct on (l.key) l.key, l.most, l.policy, l.release_while_waiting
    from (select holdfast.filled_key(d.key, p_job.payload, p_job.tenant, p_job.subject) as key, d.max as most,
                 coalesce(d.policy, 'wait') as policy, coalesce(d.release_while_waiting, false) as release_while_waiting
            from holdfast.task t
            cross join lateral jsonb_to_recordset(t.options -> 'limits') as d (key text, max int, policy text, release_while_waiting boolean)
           where t.name = p_job.task and p_job.compensates is null
          union all
          -- An operator's brake on what runs: who waits, perhaps for others of the queue, runs nothing.
          select 'queue:' || q.name, q.job_limit, 'wait', true
            from holdfast.queue q
           where q.name = p_job.queue and q.job_limit is not null) as l
   order by l.key, l.most
$$;

create or replace function holdfast.rates_of(p_job holdfast.job)
returns table (key text, most int, period interval)
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select distinct on (r.key) r.key, r.most, r.period
    from (select holdfast.filled_key(d.key, p_job.payload, p_job.tenant, p_job.subject) as key, d.max as most,
                 make_interval(secs => d.per) as period
            from holdfast.task t
            cross join lateral jsonb_to_recordset(t.options -> 'rates') as d (key text, max int, per float8)
           where t.name = p_job.task and p_job.compensates is null) as r
   order by r.key, r.most
$$;

-- Whether a new job of this task and queue must come in through admission.
create or replace function holdfast.is_gated(p_task text, p_queue text) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.task t where t.name = p_task and t.options ?| array['limits', 'rates', 'flag'])
      or exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null)
$$;

create or replace function holdfast.task_is_paused(p_task holdfast.task) returns boolean
language sql stable
return p_task.paused_at is not null and (p_task.resume_at is null or p_task.resume_at > holdfast.clock());

-- How much of a flag's jobs may run: 0 when it is off, 100 when it is on for all, or exists nowhere.
create or replace function holdfast.flag_share(p_flag text) returns int
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce((select case when f.enabled then f.percent else 0 end from holdfast.flag f where f.name = p_flag), 100)
$$;

-- The pause or flag that keeps a job back, as held_by names it, or null. A flag's share stands in it: what was parked at
-- another share is what a change of it concerns.
create or replace function holdfast.closed_by(p_job holdfast.job) returns text
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_task holdfast.task;
  v_share int;
begin
  select * into v_task from holdfast.task t where t.name = p_job.task;
  if holdfast.task_is_paused(v_task) then
    return 'task:' || v_task.name;
  end if;
  if v_task.options ? 'flag' and p_job.compensates is null then   -- what a rollout let in, it lets be undone
    v_share := holdfast.flag_share(v_task.options ->> 'flag');
    if v_share < 100
       and holdfast.rollout_position(coalesce(p_job.payload ->> (v_task.options ->> 'rollout_by'), p_job.id::text)) >= v_share then
      return 'flag:' || (v_task.options ->> 'flag') || ':' || v_share;
    end if;
  end if;
  return null;
end $$;

-- The tasks of these that are neither paused nor switched off: a claim asks, so that both count from the next claim on.
create or replace function holdfast.open_tasks(p_tasks text[]) returns text[]
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if not exists (select from holdfast.task t where t.paused_at is not null)
     and not exists (select from holdfast.flag f where not f.enabled) then
    return p_tasks;
  end if;
  return array(select n.name
                 from unnest(p_tasks) with ordinality as n (name, nth)
                 left join holdfast.task t on t.name = n.name
                where holdfast.task_is_paused(t) is not true
                  and not exists (select from holdfast.flag f where f.name = t.options ->> 'flag' and not f.enabled)
                order by n.nth);
end $$;

-- A free slot of a key; 0: none, and none becomes free before this transaction ends; null: somebody is at it, ask again.
create or replace function holdfast.free_slot(p_key text, p_most int) returns int
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_taken bigint;
  v_gap int;
  v_kept bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:limit:' || p_key, 0)) then
    return null;
  end if;
  select count(*), min(s.nth) filter (where s.n <> s.nth) into v_taken, v_gap
    from (select f.n, row_number() over (order by f.n) as nth
            from (select s.n from holdfast.slot s where s.key = p_key and s.n is not null order by s.n limit p_most) as f) as s;
  if v_taken < p_most then
    return coalesce(v_gap, v_taken + 1);
  end if;
  perform from holdfast.slot s
    where s.key = p_key and s.n is not null
    order by s.n
    limit p_most
      for key share skip locked;
  get diagnostics v_kept = row_count;
  return case when v_kept = p_most then 0 end;
end $$;

-- A place for one more start under a rate, in the manner of free_slot. A place is free that was never granted, or whose start
-- is a whole period ago: so no window of that length has more starts than places.
create or replace function holdfast.free_rate_slot(p_key text, p_most int, p_period interval, p_now timestamptz) returns int
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_taken bigint;
  v_gap int;
  v_free int;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:rate:' || p_key, 0)) then
    return null;
  end if;
  -- A rate that was lowered a moment ago still has starts beyond its last place.
  if exists (select from holdfast.rate_slot r
              where r.key = p_key and r.n > p_most and (r.used_at is null or r.used_at > p_now - p_period)) then
    return 0;
  end if;
  select r.n into v_free
    from holdfast.rate_slot r
   where r.key = p_key and r.used_at <= p_now - p_period and r.n <= p_most
   order by r.used_at
   limit 1;
  if found then
    return v_free;
  end if;
  select count(*), min(r.nth) filter (where r.n <> r.nth) into v_taken, v_gap
    from (select f.n, row_number() over (order by f.n) as nth
            from (select r.n from holdfast.rate_slot r where r.key = p_key order by r.n limit p_most) as f) as r;
  return case when v_taken < p_most then coalesce(v_gap, v_taken + 1) else 0 end;
end $$;

-- Says when the next place of a rate becomes free. Places that are granted and not yet claimed have no time of their own.
create or replace function holdfast.await_rate(p_key text, p_period interval, p_now timestamptz) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.rate_wait as w (key, next_at)
  select p_key,
         least((select min(r.used_at) + p_period from holdfast.rate_slot r where r.key = p_key and r.used_at > p_now - p_period),
               case when exists (select from holdfast.rate_slot r where r.key = p_key and r.used_at is null)
                    then p_now + greatest(least(p_period / 4, interval '1 second'), interval '20 milliseconds') end,
               p_now + p_period)
  on conflict (key) do update set next_at = excluded.next_at where w.next_at is distinct from excluded.next_at
$$;

-- Lets one job through its gates: with everything it needs in hand, or with nothing of it and the reason.
-- held: what parks it; busy: nothing does for sure, ask again. p_full: keys known to be full until this transaction ends.
create or replace function holdfast.pass_gates(p_job holdfast.job, p_now timestamptz, p_full text[], out held text, out busy boolean, out ties int)
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_gate record;
  v_n int;
  v_slots jsonb := '[]';
  v_starts jsonb := '[]';
begin
  ties := p_job.ties;
  busy := false;
  held := holdfast.closed_by(p_job);
  if held is not null then
    return;
  end if;
  for v_gate in
    select l.key, l.most
      from holdfast.limits_of(p_job) as l
     where not exists (select from holdfast.slot s where s.job_id = p_job.id and s.key = l.key and s.n is not null)
  loop
    v_n := case when v_gate.key = any (p_full) then 0 else holdfast.free_slot(v_gate.key, v_gate.most) end;
    busy := v_n is null;
    held := case when v_n = 0 then 'limit:' || v_gate.key end;
    if busy or held is not null then
      return;
    end if;
    v_slots := v_slots || jsonb_build_object('key', v_gate.key, 'n', v_n);
  end loop;
  for v_gate in select r.key, r.most, r.period from holdfast.rates_of(p_job) as r loop
    v_n := holdfast.free_rate_slot(v_gate.key, v_gate.most, v_gate.period, p_now);
    busy := v_n is null;
    if v_n = 0 then
      held := 'rate:' || v_gate.key;
      perform holdfast.await_rate(v_gate.key, v_gate.period, p_now);
    end if;
    if busy or held is not null then
      return;
    end if;
    v_starts := v_starts || jsonb_build_object('key', v_gate.key, 'n', v_n, 'period', v_gate.period);
  end loop;

  insert into holdfast.slot as s (job_id, key, n)
  select p_job.id, g.key, g.n from jsonb_to_recordset(v_slots) as g (key text, n int)
  on conflict (job_id, key) do update set n = excluded.n;
  insert into holdfast.rate_slot as r (key, n, job_id, period)
  select g.key, g.n, p_job.id, g.period from jsonb_to_recordset(v_starts) as g (key text, n int, period interval)
  on conflict (key, n) do update set job_id = excluded.job_id, used_at = null, period = excluded.period;
  ties := ties | case when v_slots = '[]' then 0 else 4 end | case when v_starts = '[]' then 0 else 8 end;
end $$;

-- Decides about one job, whose row the caller has locked, and writes it down; answers what parked it, '' when it is in line,
-- null when somebody was at its key.
create or replace function holdfast.admit_one(p_job holdfast.job, p_now timestamptz, p_full text[] default '{}') returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_answer record := holdfast.pass_gates(p_job, p_now, p_full);
begin
  if v_answer.busy then
    -- Out of the parking and due at once, or due a little later.
    update holdfast.job j
       set held_by = null,
           due_at = case when p_job.held_by is null then p_now + interval '0.2 seconds' else coalesce(j.due_at, p_now) end
     where j.id = p_job.id;
    return null;
  elsif v_answer.held is not null then
    update holdfast.job j
       set held_by = v_answer.held, claim_order = null
     where j.id = p_job.id and (j.held_by is distinct from v_answer.held or j.claim_order is not null);
    return v_answer.held;
  end if;
  update holdfast.job j
     set held_by = null, claim_order = holdfast.place_in_line(coalesce(j.due_at, p_now), j.priority), ties = v_answer.ties
   where j.id = p_job.id;
  return '';
end $$;

-- Lets up to p_many of those in that are parked for this reason, the best placed first; answers their queues.
create or replace function holdfast.admit_waiters(p_held text, p_many int) returns text[]
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_job holdfast.job;
  v_answer text;
  v_queues text[] := '{}';
  v_in int := 0;
begin
  for v_try in 1..p_many + 100 loop   -- some of them go from this parking place to another
    select * into v_job
      from holdfast.job j
     where j.held_by collate "C" = p_held and j.held_by is not null and j.claim_order is null
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit 1
       for no key update skip locked;
    exit when not found;
    v_answer := holdfast.admit_one(v_job, v_now);
    exit when v_answer = p_held;
    if v_answer is null or v_answer = '' then
      v_queues := v_queues || v_job.queue::text;
      v_in := v_in + 1;
    end if;
    exit when v_in >= p_many;
    -- It ends here because of so many that wait for something else too: admission goes on with the next of them at once.
    if v_try = p_many + 100 and p_held like 'limit:%' then
      v_queues := v_queues || holdfast.unpark(p_held, 250);
    end if;
  end loop;
  return v_queues;
end $$;

-- A job that is parked for one key passes on its turn at its others: if one of those has a free slot, and the first who waits for it may
-- have it, some come out. So whoever can use a slot is found, however many stand before it that cannot; and each time one at least goes
-- to another place for good. Answers the queues of those who came out.
drop function if exists holdfast.pass_on(uuid[]);
create or replace function holdfast.pass_on_turns(p_jobs uuid[]) returns text[]
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_key text;
  v_first holdfast.job;
  v_most int;
  v_queues text[] := '{}';
begin
  for v_key in
    select distinct s.key
      from unnest(p_jobs) as p (id)
     -- "offset 0": job by job, or a plan made for an empty table reads all that wait.
     cross join lateral (
       select w.key, w.job_id from holdfast.slot w where w.job_id = p.id and w.n is null offset 0) as s
     where (select j.held_by from holdfast.job j where j.id = s.job_id) <> 'limit:' || s.key
  loop
    select * into v_first
      from holdfast.job j
     where j.held_by collate "C" = 'limit:' || v_key and j.held_by is not null and j.claim_order is null
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit 1;
    continue when not found;
    select l.most into v_most from holdfast.limits_of(v_first) as l where l.key = v_key;
    if v_most > (select count(*) from (select from holdfast.slot s where s.key = v_key and s.n is not null limit v_most) as taken) then
      v_queues := v_queues || holdfast.unpark('limit:' || v_key, 250);
    end if;
  end loop;
  return v_queues;
end $$;

-- Gives slots that became free to those who wait for them.
create or replace function holdfast.offer_slots(p_keys text[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_key record;
  v_queues text[] := '{}';
begin
  for v_key in
    select k.key, count(*)::int as free, row_number() over () as nth from unnest(p_keys) as k (key) group by k.key
  loop
    -- Each key costs an entry of the server's lock table: what is beyond a hundred goes through admission.
    if v_key.nth <= 100 then
      v_queues := v_queues || holdfast.admit_waiters('limit:' || v_key.key, v_key.free);
    else
      v_queues := v_queues || holdfast.unpark('limit:' || v_key.key, v_key.free);
    end if;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
end $$;

-- Takes jobs out of a parking place; admission decides about them anew. Answers their queues.
drop function if exists holdfast.let_out(text, int);
create or replace function holdfast.unpark(p_held text, p_limit int) returns text[]
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with parked as materialized (
    select j.id
      from holdfast.job j
     where j.held_by collate "C" = p_held and j.held_by is not null and j.claim_order is null
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit p_limit
       for no key update skip locked),
  out as (
    update holdfast.job j
       set held_by = null, due_at = coalesce(j.due_at, v_now)
      from parked p
     where j.id = any (array[p.id::uuid]) and j.held_by = p_held
    returning j.queue)
  select array_agg(o.queue::text) into v_queues from out o;
  return coalesce(v_queues, '{}');
end $$;

-- What a move does to slots and starts: a claim uses its start; an end, and a wait where the limit says so, frees slots for others.
create or replace function holdfast.release_slots(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
declare
  v_freed text[];
  v_given text[];
begin
  -- Subqueries throughout, not joins: no plan made for an empty table may begin with all jobs.
  update holdfast.rate_slot r
     set used_at = (select case when j.status = 'RUNNING' then j.updated_at else '-infinity' end from holdfast.job j where j.id = r.job_id)
   where r.job_id = any (p_ids) and r.used_at is null
     and (select j.claim_order is null from holdfast.job j where j.id = r.job_id);
  with gone as (
    delete from holdfast.slot s
     where s.job_id = any (p_ids) and (select j.finished_at is not null from holdfast.job j where j.id = s.job_id)
    returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from gone g;
  with given as (
    update holdfast.slot s
       set n = null
     where s.job_id = any (p_ids) and s.n is not null
       and (select bool_or(l.release_while_waiting)
              from holdfast.job j
              cross join lateral holdfast.limits_of(j) as l
             where j.id = s.job_id and j.status in ('RETRY', 'WAITING', 'WAITING_FOR_APPROVAL') and l.key = s.key)
    returning s.key)
  select array_agg(g.key) into v_given from given g;
  if v_freed is not null or v_given is not null then
    perform holdfast.offer_slots(coalesce(v_freed, '{}') || coalesce(v_given, '{}'));
  end if;
end $$;

-- Opens parking places whose reason is gone: resumed tasks, flags at another share, queues with room. Answers how many came out.
create or replace function holdfast.open_again(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_sort = off as $$
declare
  v_held text;
  v_queues text[] := '{}';
begin
  -- In order, so that only one index will do: without it a plan made for an empty table would read all of a full one.
  perform from holdfast.job j where j.held_by is not null order by j.held_by collate "C" limit 1;
  if not found then
    return 0;
  end if;
  for v_held in
    select 'task:' || t.name from holdfast.task t where not holdfast.task_is_paused(t)
    union all
    select 'flag:' || f.name || ':' || share from holdfast.flag f, generate_series(0, 99) as share where share <> holdfast.flag_share(f.name)
    union all
    select 'limit:queue:' || q.name from holdfast.queue q
  loop
    continue when not exists (select from holdfast.job j where j.held_by collate "C" = v_held and j.held_by is not null);
    v_queues := v_queues || holdfast.admit_waiters(v_held, p_limit - cardinality(v_queues));
    exit when cardinality(v_queues) >= p_limit;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues);
end $$;

-- Lets those in whose rate has a free place again.
create or replace function holdfast.admit_rated(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_key text;
  v_queues text[] := '{}';
begin
  for v_key in
    select w.key from holdfast.rate_wait w where w.next_at <= v_now order by w.next_at limit 100 for update skip locked
  loop
    v_queues := v_queues || holdfast.admit_waiters('rate:' || v_key, p_limit - cardinality(v_queues));
    -- Parked again they have written the next time; otherwise nobody waits any more, or all who do come another time.
    if not exists (select from holdfast.job j where j.held_by collate "C" = 'rate:' || v_key and j.held_by is not null) then
      delete from holdfast.rate_wait w where w.key = v_key;
    else
      update holdfast.rate_wait w set next_at = v_now + interval '20 milliseconds' where w.key = v_key and w.next_at <= v_now;
    end if;
    exit when cardinality(v_queues) >= p_limit;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues);
end $$;

-- Puts into the line what is due; answers how many entered and in how many seconds the next one is due (null: none known).
-- Jobs with gates are judged one by one, no more than c_gated at a time: each may cost entries of the server's lock table.
create or replace function holdfast.admit_due(p_limit int, out admitted bigint, out next_in float8)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
declare
  c_gated constant int := 250;
  v_now timestamptz := holdfast.clock();
  v_queues text[];
  v_gated uuid[];
  v_job holdfast.job;
  v_answer text;
  v_full text[] := '{}';
  v_parked uuid[] := '{}';
  v_out text[];
  v_more boolean;
  v_others bigint;
begin
  with due as materialized (
    select j.id, j.ties & 1 = 1 as gated
      from holdfast.job j
     where j.due_at <= v_now and j.due_at is not null and j.claim_order is null and j.held_by is null
     order by j.due_at
     limit p_limit
       for no key update skip locked),
  entered as (
    update holdfast.job j
       set claim_order = holdfast.place_in_line(j.due_at, j.priority)
      from due
     where not due.gated and j.id = any (array[due.id::uuid]) and j.claim_order is null and coalesce(j.due_at, 'infinity') <= v_now
    returning j.queue)
  select (select count(*) from entered), (select array_agg(distinct e.queue::text) from entered e),
         (select array_agg(d.id::uuid) from due d where d.gated)
    into admitted, v_queues, v_gated;
  v_more := coalesce(cardinality(v_gated), 0) > c_gated;
  for v_job in
    select j.* from unnest(v_gated[1:c_gated]) as g (id) join holdfast.job j on j.id = any (array[g.id])
     order by holdfast.place_in_line(j.due_at, j.priority), j.id
  loop
    v_answer := holdfast.admit_one(v_job, v_now, v_full);
    if v_answer = '' then
      admitted := admitted + 1;
      v_queues := v_queues || v_job.queue::text;
    elsif v_answer like 'limit:%' then
      v_full := v_full || substr(v_answer, 7);
      v_parked := v_parked || v_job.id::uuid;
    end if;
  end loop;
  v_out := holdfast.pass_on_turns(v_parked);
  v_more := v_more or cardinality(v_out) > 0;
  v_others := holdfast.admit_rated(c_gated) + holdfast.open_again(c_gated);
  admitted := admitted + v_others;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  if v_more or v_others > 0 or holdfast.clear_closed(p_limit) >= p_limit then
    next_in := 0;
    return;
  end if;
  select extract(epoch from least(
           (select j.due_at
              from holdfast.job j
             where j.due_at > v_now and j.claim_order is null and j.held_by is null   -- what is due already is locked by somebody who is at it
             order by j.due_at
             limit 1),
           (select w.next_at from holdfast.rate_wait w where w.next_at > v_now order by w.next_at limit 1)) - v_now)
    into next_in;
end $$;
