-- G, a slice of the feed: it tells what the history says (G02), of each job in its order (G03), without a gap (G04), and to nobody else (F02).
-- An event without a job is the application's own, and says what it likes. Of a job's events moves have the kinds of moves, and they alone
-- have both seq and attempt; what is in them is read as JSON, so that nothing somebody wrote there ends the audit.
with cursor as materialized (
  select holdfast.clock() - greatest(least(p.feed_kept, interval '9999 days'), interval '0') + interval '1 day' as kept_since,
         array(select holdfast.event_kind(s) from unnest(enum_range(null::holdfast.job_status)) as s) as moves
    from holdfast.projection p),
f as materialized (
  select x.channel, x.id, x.job_id, x.at, x.kind, x.data, lag(x.id) over w as before, lag(x.at) over w as before_at,
         x.job_id is not null and (x.kind = any (c.moves) or (x.data ? 'seq' and x.data ? 'attempt')) as is_move
    from (select l.*
            from holdfast.feed l
           where (l.channel, l.id) >= (%(from_channel)s, %(from_id)s)
             and (%(to_channel)s::text is null or (l.channel, l.id) <= (%(to_channel)s, %(to_id)s))
           order by l.channel, l.id
           limit %(most)s) as x   -- without a limit a plan would reckon with a third of the feed, and read all jobs for each slice
    cross join cursor c
  window w as (partition by x.channel order by x.id)),
told as materialized (
  select f.channel, f.id, f.job_id, f.kind, f.data, f.is_move,
         case when f.is_move then substring(f.data ->> 'seq' from '^[0-9]{1,9}$')::int end as seq
    from f
   where f.job_id is not null),
of_job as materialized (
  select t.channel, t.id, t.job_id, t.seq, t.kind, t.data, t.is_move, j.tenant::text as tenant, j.subject::text as subject, h.to_status, h.attempt,
         lag(t.seq) over (partition by t.channel, t.job_id, t.seq is null order by t.id) as seq_before
    from told t
    join holdfast.job j on j.id = t.job_id
    left join holdfast.job_history h on h.job_id = t.job_id and h.seq = t.seq)
select 'G02' as code, o.job_id, format('event %%s of channel %%s says %%s, and its history %%s', o.id, o.channel, o.kind, coalesce(o.to_status::text, 'nothing')) as what
  from of_job o
 where o.is_move
   and (o.data -> 'status', o.data -> 'attempt', o.data -> 'seq', o.kind)
       is distinct from (to_jsonb(o.to_status), to_jsonb(o.attempt), to_jsonb(o.seq), holdfast.event_kind(o.to_status))
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
select 'G04', null, format('channel %%s has events, and is not known', s.channel)
  from (select distinct f.channel from f) as s
 where not exists (select from holdfast.channel c where c.name = s.channel)
union all
select 'F02', o.job_id, format('event %%s is in channel %%s, and the job of tenant %%s', o.id, o.channel, coalesce(o.tenant, 'nobody'))
  from of_job o
 where starts_with(o.channel, 'tenant:') and substr(o.channel, 8) is distinct from o.tenant
