-- G01, the feed is complete: each projected move of a job with a subject is in the subject's channel once, as long as events are kept.
-- Of large channels only the events of the range's own times are read.
with cursor as materialized (
  select pg_snapshot_xmax(p.snapshot)::text::bigint as xmax, holdfast.running_in(p.snapshot) as running, p.adopted_at,
         holdfast.clock() - greatest(least(p.feed_kept, interval '9999 days'), interval '0') + interval '1 day' as kept_since, p.cluster is not distinct from holdfast.cluster() as is_ours
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
  select f.channel, f.job_id, substring(f.data ->> 'seq' from '^[0-9]{1,9}$')::int as seq   -- what is no number tells of no move
    from holdfast.feed f
   where f.channel in (select distinct m.channel from move m)
     and f.at >= (select min(m.at) from move m) and f.at <= (select max(m.at) from move m)
     and f.job_id >= %(first)s::uuid and f.job_id <= %(last)s::uuid
     and f.kind in (select holdfast.event_kind(s) from unnest(enum_range(null::holdfast.job_status)) as s))
-- Added up and not joined: the planner takes a slice for a row or two, and would compare each move with each event.
select 'G01' as code, b.job_id, format('its move to %%s (row %%s) is %%s times in channel %%s', max(b.to_status), b.seq, sum(b.told), b.channel) as what
  from (select m.channel, m.job_id, m.seq, m.to_status, 0 as told from move m
        union all
        select t.channel, t.job_id, t.seq, null, 1 from told t) as b
 group by b.channel, b.job_id, b.seq
having count(b.to_status) > 0 and sum(b.told) <> 1
