-- G01, the feed is complete: each projected move of a job with a subject is in the subject's channel once, as long as events are kept.
-- Of large channels only the events of the range's own times are read.
with cursor as materialized (
  select pg_snapshot_xmax(p.snapshot)::text::bigint as xmax, holdfast.running_in(p.snapshot) as running, p.adopted_at,
         holdfast.clock() - p.feed_kept + interval '1 day' as kept_since, p.cluster is not distinct from holdfast.cluster() as is_ours
    from holdfast.projection p),
move as materialized (
  select h.job_id, h.seq, h.at, h.to_status, 'subject:' || j.subject as channel
    from holdfast.job_history h
    join holdfast.job j on j.id = h.job_id
    cross join cursor c
   where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid and j.id >= %(first)s::uuid and j.id <= %(last)s::uuid
     and j.subject is not null and h.at > c.kept_since and c.is_ours
     and not ((h.xid >= c.xmax or h.xid = any (c.running)) and holdfast.is_native(h.xid, h.xmin, h.at, c.adopted_at))
     and not exists (select from holdfast.left_over l where l.job_id = h.job_id and l.seq = h.seq)),
told as materialized (
  select f.channel, f.job_id, (f.data ->> 'seq')::int as seq
    from holdfast.feed f
   where f.channel in (select distinct m.channel from move m)
     and f.at >= (select min(m.at) from move m) and f.at <= (select max(m.at) from move m)
     and f.job_id >= %(first)s::uuid and f.job_id <= %(last)s::uuid
     and f.data ? 'seq' and f.data ? 'attempt')
select 'G01' as code, m.job_id, format('its move to %%s (row %%s) is %%s times in channel %%s', m.to_status, m.seq, count(t.job_id), m.channel) as what
  from move m
  left join told t on t.channel = m.channel and t.job_id = m.job_id and t.seq = m.seq
 group by m.job_id, m.seq, m.to_status, m.channel
having count(t.job_id) <> 1
