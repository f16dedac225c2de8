-- What streams read: many channels and jobs in one question, and of each no more than a reader may hold in memory.

-- Says that somebody follows a channel; gives the last id that it has given.
create or replace function holdfast.follow_channel(p_channel text) returns bigint
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.open_channel(p_channel);
  return (select c.last_id from holdfast.channel c where c.name = p_channel);
end $$;

-- Events behind ids, a channel each. Jobs of several tenants may share a subject: of what is not the reader's own only the id is
-- given, so that a jump in the ids still says that retention took something. '*' reads everything.
create or replace function holdfast.read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit int)
returns table (channel int, id bigint, kind text, job_id uuid, at timestamptz, data jsonb)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select a.place::int, e.id, own.kind, own.job_id, own.at, own.data
    from unnest(p_channels, p_tenants, p_after) with ordinality as a (channel, tenant, after, place)
    cross join lateral (
      select f.id, f.kind, f.job_id, f.at, f.data,
             sum(octet_length(f.data::text)) over (order by f.id rows between unbounded preceding and 1 preceding) as bytes_before
        from (select f.id, f.kind, f.job_id, f.at, f.data
                from holdfast.feed f
               where f.channel = a.channel and f.id > a.after
               order by f.id
               limit least(p_limit, 1000)) as f) as e
    left join lateral (
      select e.kind, e.job_id, e.at, e.data
       where holdfast.may_touch(nullif(a.tenant, '*'))
         and (a.tenant = '*' or a.channel = 'tenant:' || a.tenant
              or exists (select from holdfast.job j where j.id = e.job_id and j.tenant = a.tenant))) as own on true
   where coalesce(e.bytes_before, 0) < 65536
   order by a.place, e.id
$$;

-- A job's tenant, and how far its history and its activity have come; nothing when there is no such job.
create or replace function holdfast.follow_job(p_job uuid) returns table (tenant text, seq int, note bigint)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.tenant::text,
         coalesce((select max(h.seq) from holdfast.job_history h where h.job_id = j.id), 0),
         coalesce((select max(a.id) from holdfast.activity a where a.job_id = j.id), 0)
    from holdfast.job j
   where j.id = p_job and holdfast.may_touch(j.tenant)
$$;

-- Moves and happenings of jobs, told as the projector tells them but without waiting for it; a job need have no subject for this.
-- Both are written while the job's row is locked: what has a smaller number was committed before.
create or replace function holdfast.read_jobs(p_jobs uuid[], p_seqs int[], p_notes bigint[], p_limit int)
returns table (job int, seq int, note bigint, kind text, job_id uuid, at timestamptz, data jsonb)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select a.place::int, m.seq, 0, holdfast.event_kind(m.to_status), a.job, m.at,
         jsonb_strip_nulls(jsonb_build_object(
           'task', j.task, 'status', m.to_status, 'from', m.from_status, 'attempt', m.attempt, 'seq', m.seq,
           'due_at', m.metadata -> 'due_at', 'error', holdfast.error_class(m.metadata),
           'fields', (select holdfast.listed_fields(t.options -> 'feed_fields', j.payload)
                        from holdfast.task t
                       where t.name = j.task and jsonb_typeof(t.options -> 'feed_fields') = 'array')))
    from unnest(p_jobs, p_seqs) with ordinality as a (job, seq, place)
    join holdfast.job j on j.id = a.job and holdfast.may_touch(j.tenant)
    cross join lateral (
      select h.seq, h.from_status, h.to_status, h.attempt, h.at, h.metadata
        from holdfast.job_history h
       where h.job_id = a.job and h.seq > a.seq
       order by h.seq
       limit p_limit) as m
  union all
  select a.place::int, 0, n.id, n.kind, a.job, n.at, jsonb_build_object('task', j.task) || coalesce(n.data, '{}')
    from unnest(p_jobs, p_notes) with ordinality as a (job, note, place)
    join holdfast.job j on j.id = a.job and holdfast.may_touch(j.tenant)
    cross join lateral (
      select v.id, v.kind, v.at, v.data
        from holdfast.activity v
       where v.job_id = a.job and v.id > a.note
       order by v.id
       limit p_limit) as n
   order by 1, 2, 3
$$;
