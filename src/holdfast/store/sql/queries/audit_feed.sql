-- G, a slice of the feed: it tells what the history says (G02), of each job in its order (G03), without a gap (G04), and to nobody else (F02).
with cursor as materialized (
  select holdfast.clock() - p.feed_kept + interval '1 day' as kept_since from holdfast.projection p),
f as materialized (
  select x.channel, x.id, x.job_id, x.at, x.kind, x.data, lag(x.id) over w as before, lag(x.at) over w as before_at,
         case when x.data ? 'seq' and x.data ? 'attempt' then (x.data ->> 'seq')::int end as seq
    from holdfast.feed x
   where (x.channel, x.id) >= (%(from_channel)s, %(from_id)s)
     and (%(to_channel)s::text is null or (x.channel, x.id) <= (%(to_channel)s, %(to_id)s))
  window w as (partition by x.channel order by x.id)),
of_job as materialized (
  select f.channel, f.id, f.job_id, f.seq, f.kind, f.data, j.tenant::text as tenant, j.subject::text as subject, h.to_status, h.attempt,
         lag(f.seq) over (partition by f.channel, f.job_id, f.seq is null order by f.id) as seq_before
    from f
    join holdfast.job j on j.id = f.job_id
    left join holdfast.job_history h on h.job_id = f.job_id and h.seq = f.seq)
select 'G02' as code, o.job_id, format('event %%s of channel %%s says %%s, and its history %%s', o.id, o.channel, o.kind, coalesce(o.to_status::text, 'nothing')) as what
  from of_job o
 where o.seq is not null
   and (o.data ->> 'status', (o.data ->> 'attempt')::int, o.kind) is distinct from (o.to_status::text, o.attempt, holdfast.event_kind(o.to_status))
union all
select 'G02', o.job_id, format('event %%s is in channel %%s, and the job''s subject is %%s', o.id, o.channel, coalesce(o.subject, 'none'))
  from of_job o
 where starts_with(o.channel, 'subject:') and substr(o.channel, 9) is distinct from o.subject
union all
select 'G03', o.job_id, format('event %%s of channel %%s tells of row %%s behind row %%s', o.id, o.channel, o.seq, o.seq_before)
  from of_job o
 where o.seq <= o.seq_before
union all
select 'G04', f.job_id, format('channel %%s goes from %%s to %%s', f.channel, f.before, f.id)
  from f
  cross join cursor c
 where f.id <> f.before + 1 and f.at > c.kept_since and f.before_at > c.kept_since
union all
select 'F02', o.job_id, format('event %%s is in channel %%s, and the job of tenant %%s', o.id, o.channel, coalesce(o.tenant, 'nobody'))
  from of_job o
 where starts_with(o.channel, 'tenant:') and substr(o.channel, 8) is distinct from o.tenant
