-- What the history of a range of jobs says of usage, as far as it was projected. A time that no clock gave is A13's: nothing can be
-- reckoned from it.
with cursor as materialized (
  select pg_snapshot_xmax(p.snapshot)::text::bigint as xmax, holdfast.running_in(p.snapshot) as running, p.adopted_at,
         p.cluster is not distinct from holdfast.cluster() as is_ours
    from holdfast.projection p),
move as (
  select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.at, h.at - lag(h.at) over (partition by h.job_id order by h.seq) as lasted,
         (h.xid >= c.xmax or h.xid = any (c.running)) and holdfast.is_native(h.xid, h.xmin, h.at, c.adopted_at)
         or exists (select from holdfast.left_over l where l.job_id = h.job_id and l.seq = h.seq) as is_fresh
    from holdfast.job_history h
    cross join cursor c
   where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid and c.is_ours
     and h.at > timestamptz '1970-01-01 00:00:00+00' and h.at < timestamptz '9999-12-31 00:00:00+00')
select (m.at at time zone 'UTC')::date as day, j.tenant::text, j.task::text,
       count(*) filter (where m.from_status is null),
       count(*) filter (where m.to_status = 'RUNNING'),
       count(*) filter (where m.to_status = 'COMPLETED'),
       count(*) filter (where m.to_status = 'FAILED'),
       count(*) filter (where m.to_status = 'CANCELLED'),
       count(*) filter (where m.to_status = 'RETRY'),
       coalesce(sum(m.attempt) filter (where m.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0),
       coalesce(sum(extract(epoch from m.lasted)) filter (where m.from_status = 'RUNNING'), 0)
  from move m
  join holdfast.job j on j.id = m.job_id
 where not m.is_fresh
 group by 1, 2, 3
