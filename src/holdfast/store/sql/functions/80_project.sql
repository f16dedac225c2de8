-- The projector: what committed history and activity say, as events, statistics and usage. Any process may be it, one at a time.

-- Which cluster's transaction numbers these are; null where the server does not tell (then a restored dump is not noticed).
create or replace function holdfast.cluster() returns bigint
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if not has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    return null;
  end if;
  return (select c.system_identifier from pg_control_system() as c);
end $$;

-- Four buckets to the doubling, from a millisecond to 49 days: a percentile read from them is off by at most 9 %.
create or replace function holdfast.bucket_of(p_span interval) returns smallint
language sql immutable parallel safe
return case when p_span is not null
            then least(greatest(floor(4 * ln(greatest(date_part('epoch', p_span) * 1000, 0.5)) / 0.6931471805599453) + 1, 0), 127)
       end::smallint;

-- The least number of seconds in a bucket.
create or replace function holdfast.bucket_floor(p_bucket int) returns float8
language sql immutable parallel safe
return case when p_bucket <= 0 then 0 else 2 ^ ((p_bucket - 1) / 4.0)::float8 / 1000 end;

create or replace function holdfast.bucket_middle(p_bucket int) returns float8
language sql immutable parallel safe
return case when p_bucket <= 0 then 0.0005 else 2 ^ ((p_bucket - 0.5) / 4.0)::float8 / 1000 end;

create or replace function holdfast.event_kind(p_status holdfast.job_status) returns text
language sql immutable parallel safe
return case p_status
    when 'PENDING' then 'job.enqueued'
    when 'RUNNING' then 'job.started'
    when 'RETRY' then 'job.retrying'
    when 'WAITING' then 'job.waiting'
    when 'WAITING_FOR_APPROVAL' then 'job.waiting_for_approval'
    when 'COMPLETED' then 'job.completed'
    when 'FAILED' then 'job.failed'
    when 'CANCELLED' then 'job.cancelled'
  end;

-- An error's type as far as it is the name of a class: outside runs send what they like, and events carry nobody's words.
create or replace function holdfast.error_class(p_metadata jsonb) returns text
language sql immutable parallel safe
return substring(coalesce(p_metadata -> 'error' ->> 'type', p_metadata ->> 'type') from '^[A-Za-z_][A-Za-z0-9_.]{0,99}$');

create or replace function holdfast.listed_fields(p_fields jsonb, p_payload jsonb) returns jsonb
language sql immutable parallel safe
return (select jsonb_object_agg(f, p_payload -> f) from jsonb_array_elements_text(p_fields) as f where p_payload ? f);

-- The queue that a job was in when it made this move: counts that began in one queue do not end in another.
create or replace function holdfast.queue_at(p_job uuid, p_seq int, p_queue text) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce((select a.data ->> 'from'
                     from holdfast.activity a
                    where a.job_id = p_job and a.kind = 'job.moved' and substring(a.data ->> 'seq' from '^[0-9]{1,9}$')::int >= p_seq
                    order by a.id
                    limit 1), p_queue)
$$;

-- Since when an attempt has been held by an outside executor. A function of the FROM clause, so that the planner merges it
-- into the pass.
create or replace function holdfast.held_outside(p_job uuid, p_attempt int) returns table (since timestamptz)
language sql stable
begin atomic
  select d.sent_at from holdfast.dispatch d where d.job_id = p_job and d.attempt = p_attempt and d.sent_at is not null;
end;

create or replace function holdfast.as_snapshot(p_xmax bigint, p_running bigint[]) returns pg_snapshot
language sql immutable set search_path = pg_catalog, holdfast, pg_temp as $$
  select (coalesce(min(x), p_xmax) || ':' || p_xmax || ':' || coalesce(string_agg(x::text, ',' order by x), ''))::pg_snapshot
    from (select distinct x from unnest(p_running) as x where x < p_xmax) as r (x)
$$;

create or replace function holdfast.running_in(p_snapshot pg_snapshot) returns bigint[]
language sql immutable set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce(array_agg(x::text::bigint), '{}') from pg_snapshot_xip(p_snapshot) as x
$$;

-- Whether a row's number is this cluster's. Restored rows keep the numbers they had, which this cluster may come to again; but the
-- transaction that restored them is older than every number still to be read, and that which writes a row itself is not.
create or replace function holdfast.is_native(p_xid bigint, p_xmin xid, p_at timestamptz, p_adopted_at timestamptz) returns boolean
language sql stable parallel safe
return p_at > p_adopted_at
       -- A savepoint's number comes behind that of its transaction. Modulo 2^32, as PostgreSQL stores it.
       or (p_at > p_adopted_at - interval '1 day' and ((p_xmin::text::bigint - p_xid) & 4294967295) < 2147483648);

-- Whether there is anything to project: an idle system is only looked at, and nothing written.
create or replace function holdfast.has_unprojected() returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan as $$
declare
  v_cursor holdfast.projection;
  v_xmax bigint;
  v_to bigint;
  v_running bigint[];
begin
  select * into strict v_cursor from holdfast.projection p;
  v_xmax := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_running := holdfast.running_in(v_cursor.snapshot);
  v_to := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  return v_cursor.cluster is distinct from holdfast.cluster()
      or exists (select from holdfast.job_history h
                  where h.xid >= v_xmax and h.xid < v_to and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.xid >= v_xmax and a.xid < v_to and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at))
      or exists (select from holdfast.published)
      or exists (select from holdfast.left_over)
      or exists (select from holdfast.job_history h
                  where h.xid = any (v_running) and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.xid = any (v_running) and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at));
end $$;

-- Whether something of this job has not been projected yet: retention leaves it alone meanwhile.
create or replace function holdfast.awaits_projection(p_job uuid) returns boolean
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_cursor holdfast.projection;
  v_xmax bigint;
  v_running bigint[];
begin
  select * into strict v_cursor from holdfast.projection p;
  v_xmax := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_running := holdfast.running_in(v_cursor.snapshot);
  return v_cursor.cluster is distinct from holdfast.cluster()
      or exists (select from holdfast.job_history h
                  where h.job_id = p_job and (h.xid >= v_xmax or h.xid = any (v_running))
                    and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.job_id = p_job and (a.xid >= v_xmax or a.xid = any (v_running))
                    and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at))
      or exists (select from holdfast.left_over l where l.job_id = p_job);
end $$;

-- After a dump was restored into another cluster the stored transaction numbers are the old cluster's, and those of rows written
-- since may equal them. A row counts as projected when the old cursor saw its number and it is no younger than that pass: what was
-- written here since is younger. The others are listed by their keys, and the cursor begins anew with this cluster's numbers.
create or replace function holdfast.adopt_restored(p_cursor holdfast.projection) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_xmax bigint := pg_snapshot_xmax(p_cursor.snapshot)::text::bigint;
  v_running bigint[] := holdfast.running_in(p_cursor.snapshot);
  v_ran_at timestamptz := coalesce(p_cursor.ran_at, '-infinity');
begin
  -- One statement, one snapshot: what commits between two would be listed here and found again by its number.
  with listed as (
    insert into holdfast.left_over (at, job_id, seq, activity)
    select h.at, h.job_id, h.seq, null
      from holdfast.job_history h
     where not (h.xid < v_xmax and h.xid <> all (v_running) and h.at <= v_ran_at)
    union all
    select a.at, a.job_id, null, a.id
      from holdfast.activity a
     where not (a.xid < v_xmax and a.xid <> all (v_running) and a.at <= v_ran_at))
  update holdfast.projection p
     set snapshot = holdfast.as_snapshot(
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
           holdfast.running_in(pg_current_snapshot()) || pg_current_xact_id()::text::bigint),
         cluster = holdfast.cluster(),
         ran_at = holdfast.clock(),
         adopted_at = holdfast.clock();
end $$;

-- Where a slice of about p_limit rows ends: behind a whole transaction.
create or replace function holdfast.end_of_slice(p_from bigint, p_to bigint, p_limit int) returns bigint
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $$
begin
  return least((select h.xid from holdfast.job_history h where h.xid >= p_from and h.xid < p_to order by h.xid offset p_limit limit 1) + 1,
               (select a.xid from holdfast.activity a where a.xid >= p_from and a.xid < p_to order by a.xid offset p_limit limit 1) + 1,
               p_to);
end $$;

-- Projects what was committed since the last pass, or a slice of it; null: another process is at it.
-- Read is what the snapshot of now sees and that of the cursor did not: transactions that began since, and those that were
-- running then and have ended. A long one is in nobody's way; it is projected when it has committed.
create or replace function holdfast.project(p_limit int default 10000, out projected bigint, out events bigint, out more boolean)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_cursor holdfast.projection;
  v_running bigint[];
  v_from bigint;
  v_to bigint;
  v_cut bigint;
  v_further text;
begin
  projected := 0;
  events := 0;
  more := false;
  if not holdfast.has_unprojected() then
    return;
  end if;
  select * into v_cursor from holdfast.projection p for update skip locked;
  if not found then
    projected := null;
    events := null;
    more := null;
    return;
  end if;
  if v_cursor.cluster is distinct from holdfast.cluster() then
    perform holdfast.adopt_restored(v_cursor);
    more := true;
    return;
  end if;

  if exists (select from holdfast.left_over) then   -- before all that came later
    select * into projected, events from holdfast.project_slice(0, 0, 0, '{}', '{}', p_limit, v_cursor);
    more := true;
    return;
  end if;
  -- Its own transaction is in nobody's list of the running, and what it writes is for the next pass.
  select holdfast.running_in(s) || pg_current_xact_id()::text::bigint, pg_snapshot_xmax(s)::text::bigint
    into v_running, v_to
    from pg_current_snapshot() as s;
  v_from := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_cut := holdfast.end_of_slice(v_from, v_to, p_limit);
  loop
    begin
      select * into projected, events
        from holdfast.project_slice(
          v_from, v_cut, v_to, v_running,
          array(select x from unnest(holdfast.running_in(v_cursor.snapshot)) as x where x <> all (v_running)),
          p_limit, v_cursor);
      exit;
    exception when sqlstate 'HF014' then   -- too short: again, as far as it says
      get stacked diagnostics v_further = pg_exception_detail;
      v_cut := v_further::bigint;
    end;
  end loop;
  update holdfast.projection p
     set snapshot = holdfast.as_snapshot(v_cut, v_running), ran_at = holdfast.clock();
  more := v_cut < v_to;
end $$;

-- The rows of a slice, added up and numbered. Nested loops along primary keys only, and a plan that is kept: with all partitions
-- of the history in it, making one takes longer than most passes.
create or replace function holdfast.project_slice(
  p_from bigint, p_to bigint, p_end bigint, p_running bigint[], p_ended bigint[], p_limit int, p_cursor holdfast.projection,
  out projected bigint, out events bigint)
language plpgsql set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
  set max_parallel_workers_per_gather = 0 set plan_cache_mode = force_generic_plan as $$
declare
  v_adopted_at timestamptz := p_cursor.adopted_at;
  v_floor bigint := p_cursor.channel_floor;
  v_channels text[];
  v_tenants text[];
  v_further bigint;
begin
  with taken as (
    delete from holdfast.left_over l
     where l.ctid = any (array(select o.ctid from holdfast.left_over o order by o.at, o.job_id, o.seq limit p_limit))
    returning l.job_id, l.seq, l.activity),
  fresh as (
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from holdfast.job_history h
     where h.xid >= p_from and h.xid < p_to and h.xid <> all (p_running) and holdfast.is_native(h.xid, h.xmin, h.at, v_adopted_at)
    union all
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from holdfast.job_history h
     where h.xid = any (p_ended) and holdfast.is_native(h.xid, h.xmin, h.at, v_adopted_at)
    union all
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from taken
      join holdfast.job_history h on h.job_id = taken.job_id and h.seq = taken.seq),
  moves as materialized (
    select f.job_id, f.seq, f.from_status, f.to_status, f.attempt, f.at, f.metadata,
           case when j.ties & 16 = 0 then j.queue::text else holdfast.queue_at(j.id, f.seq, j.queue) end as queue,
           j.task::text, j.tenant::text, j.subject::text, j.retry_count, j.compensates is not null as undoes,
           case when f.from_status = 'RUNNING' then f.at - f.began end as ran,
           case when f.from_status = 'RUNNING' and o.since is not null then f.at - greatest(o.since, f.began) end as ran_outside,
           case when f.to_status = 'RUNNING' then greatest(f.at - f.since, interval '0') end as waited
      from (select fresh.*,
                   -- A row from before 0002 does not say when its attempt began; the row before it does.
                   coalesce(fresh.since, case when fresh.from_status = 'RUNNING' then (
                     select b.at from holdfast.job_history b where b.job_id = fresh.job_id and b.seq = fresh.seq - 1) end) as began
              from fresh) as f
      join holdfast.job j on j.id = f.job_id
      left join lateral holdfast.held_outside(case when f.from_status = 'RUNNING' then f.job_id end, f.attempt) as o on o.since is not null),
  happenings as materialized (
    select a.id, a.job_id, a.at, a.kind, a.data, j.task::text, j.tenant::text, j.subject::text
      from (select a.id, a.job_id, a.at, a.kind, a.data
              from holdfast.activity a
             where a.xid >= p_from and a.xid < p_to and a.xid <> all (p_running) and holdfast.is_native(a.xid, a.xmin, a.at, v_adopted_at)
            union all
            select a.id, a.job_id, a.at, a.kind, a.data
              from holdfast.activity a
             where a.xid = any (p_ended) and holdfast.is_native(a.xid, a.xmin, a.at, v_adopted_at)
            union all
            select a.id, a.job_id, a.at, a.kind, a.data from taken join holdfast.activity a on a.id = taken.activity) as a
      join holdfast.job j on j.id = a.job_id),
  released as (
    delete from holdfast.published p
     where p.id = any (array(select o.id from holdfast.published o order by o.id limit p_limit))
    returning p.id, p.at, p.channel, p.kind, p.data),

  -- Added up once, finely; the tables take their sums from these few rows.
  lots as materialized (
    select date_bin('1 minute', m.at, '2000-01-01') as minute, m.queue, m.task, m.tenant, m.from_status, m.to_status,
           holdfast.bucket_of(coalesce(m.waited, m.ran)) as bucket,
           case when m.to_status in ('COMPLETED', 'FAILED') then m.retry_count end as retries, m.undoes,
           count(*) as n, count(m.waited) as waits, sum(m.waited) as waited, count(m.ran) as runs, sum(m.ran) as ran,
           sum(m.ran_outside) as ran_outside, sum(m.attempt) as attempts
      from moves m
     group by 1, m.queue, m.task, m.tenant, m.from_status, m.to_status, 7, 8, m.undoes),
  counted as (
    insert into holdfast.statistic as s (minute, queue, task, enqueued, started, completed, failed, cancelled, retried, suspended, waits, waited, runs, ran,
                                       undo_completed, undo_failed)
    select l.minute, l.queue, l.task,
           coalesce(sum(l.n) filter (where l.from_status is null), 0), coalesce(sum(l.n) filter (where l.to_status = 'RUNNING'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'FAILED'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'CANCELLED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'RETRY'), 0),
           coalesce(sum(l.n) filter (where l.to_status in ('WAITING', 'WAITING_FOR_APPROVAL')), 0),
           sum(l.waits), coalesce(sum(l.waited), '0'), sum(l.runs), coalesce(sum(l.ran), '0'),
           coalesce(sum(l.n) filter (where l.undoes and l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.undoes and l.to_status = 'FAILED'), 0)
      from lots l
     group by l.minute, l.queue, l.task
    on conflict (minute, queue, task) do update
       set enqueued = s.enqueued + excluded.enqueued, started = s.started + excluded.started, completed = s.completed + excluded.completed,
           failed = s.failed + excluded.failed, cancelled = s.cancelled + excluded.cancelled, retried = s.retried + excluded.retried,
           suspended = s.suspended + excluded.suspended, waits = s.waits + excluded.waits, waited = s.waited + excluded.waited,
           runs = s.runs + excluded.runs, ran = s.ran + excluded.ran,
           undo_completed = s.undo_completed + excluded.undo_completed, undo_failed = s.undo_failed + excluded.undo_failed),
  timed as (
    insert into holdfast.timing as t (minute, queue, task, what, bucket, count)
    select l.minute, l.queue, l.task, case when l.waits > 0 then 'wait' else 'run' end, l.bucket, sum(l.n)
      from lots l
     where l.bucket is not null
     group by l.minute, l.queue, l.task, 4, l.bucket
    union all
    select l.minute, l.queue, l.task, 'retries', l.retries, sum(l.n)
      from lots l
     where l.retries is not null
     group by l.minute, l.queue, l.task, l.retries
    on conflict (minute, what, task, queue, bucket) do update set count = t.count + excluded.count),
  lasted as (
    insert into holdfast.duration as d (queue, task, what, bucket, count, seconds)
    select l.queue, l.task, case when l.waits > 0 then 'wait' else 'run' end, (l.bucket + 7) / 8, sum(l.n),
           extract(epoch from sum(coalesce(l.waited, l.ran)))
      from lots l
     where l.bucket is not null
     group by l.queue, l.task, 3, 4
    on conflict (queue, task, what, bucket) do update set count = d.count + excluded.count, seconds = d.seconds + excluded.seconds),
  tallied as (
    insert into holdfast.tally as t (queue, task, status, entered, departed)
    select e.queue, e.task, e.status, sum(e.entered), sum(e.departed)
      from (select l.queue, l.task, l.to_status as status, l.n as entered, 0 as departed from lots l
            union all
            select l.queue, l.task, l.from_status, 0, l.n from lots l where l.from_status is not null
            union all
            select q.name, h.task, (h.data ->> 'status')::holdfast.job_status, q.entered, 1 - q.entered
              from happenings h
              cross join lateral (values (h.data ->> 'to', 1), (h.data ->> 'from', 0)) as q (name, entered)
             where h.kind = 'job.moved') as e
     group by e.queue, e.task, e.status
    on conflict (queue, task, status) do update set entered = t.entered + excluded.entered, departed = t.departed + excluded.departed),
  used as (
    insert into holdfast.usage as u (day, tenant, task, enqueued, runs, completed, failed, cancelled, retried, attempts, run_seconds, external_seconds)
    select (l.minute at time zone 'UTC')::date, l.tenant, l.task,
           coalesce(sum(l.n) filter (where l.from_status is null), 0), coalesce(sum(l.n) filter (where l.to_status = 'RUNNING'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'FAILED'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'CANCELLED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'RETRY'), 0),
           coalesce(sum(l.attempts) filter (where l.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0),
           coalesce(extract(epoch from sum(l.ran)), 0), coalesce(extract(epoch from sum(l.ran_outside)), 0)
      from lots l
     group by 1, l.tenant, l.task
    on conflict (day, tenant, task) do update
       set enqueued = u.enqueued + excluded.enqueued, runs = u.runs + excluded.runs, completed = u.completed + excluded.completed,
           failed = u.failed + excluded.failed, cancelled = u.cancelled + excluded.cancelled, retried = u.retried + excluded.retried,
           attempts = u.attempts + excluded.attempts, run_seconds = u.run_seconds + excluded.run_seconds,
           external_seconds = u.external_seconds + excluded.external_seconds
    returning u.tenant),

  told as (
    select m.job_id, m.at, 0 as source, m.seq::bigint as place, m.subject, m.tenant, holdfast.event_kind(m.to_status) as kind,
           jsonb_strip_nulls(jsonb_build_object(
             'task', m.task, 'status', m.to_status, 'from', m.from_status, 'attempt', m.attempt, 'seq', m.seq,
             'due_at', m.metadata -> 'due_at', 'error', holdfast.error_class(m.metadata), 'fields', fields.listed)) as data
      from moves m
      left join lateral (
        select holdfast.listed_fields(t.options -> 'feed_fields', j.payload) as listed
          from holdfast.task t
          join holdfast.job j on j.id = m.job_id
         where t.name = m.task and jsonb_typeof(t.options -> 'feed_fields') = 'array') as fields on true
     where m.subject is not null or m.tenant is not null
    union all
    select h.job_id, h.at, 1, h.id, h.subject, h.tenant, h.kind,
           jsonb_build_object('task', h.task) || coalesce(h.data, '{}') - 'reason'   -- a person's words are for the history
      from happenings h
     where h.subject is not null or h.tenant is not null),
  addressed as materialized (
    select 'subject:' || t.subject as channel, t.job_id, t.at, t.source, t.place, t.kind, t.data from told t where t.subject is not null
    union all
    select 'tenant:' || t.tenant, t.job_id, t.at, t.source, t.place, t.kind, t.data
      from told t
     where t.tenant is not null
       and exists (select from holdfast.channel c where c.name = 'tenant:' || t.tenant and c.listened_at is not null)
    union all
    select r.channel, null, r.at, 2, r.id, r.kind, r.data from released r),
  opened as (
    insert into holdfast.channel as c (name, last_id, last_at)
    select a.channel, v_floor + count(*), max(a.at)
      from addressed a
     group by a.channel
    on conflict (name) do update set last_id = c.last_id + excluded.last_id - v_floor, last_at = greatest(c.last_at, excluded.last_at)
    returning c.name, c.listened_at),
  numbered as (
    insert into holdfast.feed (channel, id, job_id, at, kind, data)
    select a.channel,
           coalesce((select c.last_id from holdfast.channel c where c.name = a.channel), v_floor)
             -- A job's moves in their order, whatever else happened meanwhile: at never goes back within a job.
             + row_number() over (partition by a.channel order by a.at, a.job_id, a.source, a.place),
           a.job_id, a.at, a.kind, a.data
      from addressed a
    returning 1)
  select (select coalesce(sum(l.n), 0) from lots l) + (select count(*) from happenings) + (select count(*) from released), (select count(*) from numbered),
         (select array_agg(o.name) from opened o where o.listened_at is not null),
         (select array_agg(distinct u.tenant) from used u where u.tenant is not null),
         -- Transactions may have got their numbers in another order than they moved one job: what it did before lies behind the cut.
         (select max(b.xid) + 1
            from addressed a
            join holdfast.job_history b on b.job_id = a.job_id and b.seq = a.place - 1
           where p_to < p_end and a.source = 0 and b.xid >= p_to and b.xid < p_end)
    into projected, events, v_channels, v_tenants, v_further;
  if v_further is not null then
    raise exception 'the slice ends between two moves of a job' using errcode = 'HF014', detail = v_further;
  end if;
  perform pg_notify('holdfast_feed', c) from unnest(v_channels) as c;
  if exists (select from holdfast.quota q where q.tenant = any (v_tenants)) then
    perform holdfast.judge_quotas(v_tenants);
  end if;
end $$;

-- An event of the application, in its own transaction; its id is given when that has committed.
create or replace function holdfast.publish(p_channel text, p_kind text, p_data jsonb default '{}') returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_own(holdfast.channel_tenant(p_channel), format('channel %L', p_channel));
  if jsonb_typeof(p_data) is distinct from 'object' then
    raise exception 'event % has data that is no JSON object but %', quote_literal(p_kind), coalesce(jsonb_typeof(p_data), 'missing') using errcode = 'HF005';
  end if;
  if octet_length(p_data::text) > 65536 then
    raise exception 'event % has % bytes of data; at most 65,536 (64 KiB) fit', quote_literal(p_kind), octet_length(p_data::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and publish its id.';
  end if;
  insert into holdfast.published (at, channel, kind, data) values (holdfast.clock(), p_channel, p_kind, p_data);
end $$;

-- Says that somebody reads a channel: from now on a tenant's events are kept and notices sent.
create or replace function holdfast.open_channel(p_channel text) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.channel as c (name, last_id, last_at, listened_at)
  select p_channel, p.channel_floor, holdfast.clock(), holdfast.clock()
    from holdfast.projection p
   where holdfast.channel_tenant(p_channel) is null or holdfast.may_touch(holdfast.channel_tenant(p_channel))
  on conflict (name) do update
     set listened_at = excluded.listened_at
   where c.listened_at is null or c.listened_at < excluded.listened_at - interval '1 hour'
$$;

-- Events behind an id, oldest first. Ids of a channel are consecutive: a jump says that retention took what lay between.
create or replace function holdfast.read_feed(p_channel text, p_after bigint default 0, p_limit int default 1000)
returns table (id bigint, kind text, job_id uuid, at timestamptz, data jsonb)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select f.id, f.kind, f.job_id, f.at, f.data
    from holdfast.feed f
   where f.channel = p_channel and f.id > p_after
     -- Other channels have events of several tenants: a bound reader sees those of its own jobs.
     and (holdfast.may_touch(holdfast.channel_tenant(p_channel))
          or exists (select from holdfast.job j where j.id = f.job_id and j.tenant = holdfast.bound_tenant()))
   order by f.id
   limit least(p_limit, 10000)
$$;

select holdfast.make_append_only('holdfast.feed', 'feed', 'the feed is');

-- Old events and minutes, and channels without either. A channel that comes back after it was forgotten goes on behind the floor:
-- no reader's last id is ever given again. Usage stays.
create or replace function holdfast.forget_projected(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_cursor holdfast.projection;
  v_events bigint;
  v_channels bigint;
begin
  select * into v_cursor from holdfast.projection p for update skip locked;   -- a pass must not see a channel go
  if not found then
    return 0;
  end if;
  -- For longer than there is a calendar nothing can be kept, and all upkeep would end with an error. What makes no sense forgets nothing.
  if v_cursor.feed_kept not between interval '0' and interval '6000 years' then
    v_cursor.feed_kept := interval '6000 years';
  end if;
  if v_cursor.statistics_kept not between interval '0' and interval '6000 years' then
    v_cursor.statistics_kept := interval '6000 years';
  end if;
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  delete from holdfast.feed f
   where f.ctid = any (array(select o.ctid from holdfast.feed o where o.at < v_now - v_cursor.feed_kept limit p_limit));
  get diagnostics v_events = row_count;
  perform set_config('holdfast.retention', '', true);
  delete from holdfast.statistic s where s.minute < v_now - v_cursor.statistics_kept;
  delete from holdfast.timing t where t.minute < v_now - v_cursor.statistics_kept;
  update holdfast.channel c set listened_at = null where c.listened_at < v_now - v_cursor.feed_kept;
  with gone as (
    delete from holdfast.channel c
     where c.name = any (array(
             select o.name
               from holdfast.channel o
              where o.last_at < v_now - v_cursor.feed_kept and o.listened_at is null
                and not exists (select from holdfast.feed f where f.channel = o.name)
              order by o.last_at
              limit p_limit))
    returning c.last_id),
  floored as (
    update holdfast.projection p
       set channel_floor = greatest(p.channel_floor, (select max(g.last_id) from gone g))
     where exists (select from gone))
  select count(*) into v_channels from gone;
  return greatest(v_events, v_channels);
end $$;
