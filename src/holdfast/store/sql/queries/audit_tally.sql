-- B06, counts: what was projected, with what is yet to be, is how many jobs there are. Of ended jobs retention may have taken some;
-- where nothing was ever removed (exact) they are counted too.
with cursor as materialized (
  select pg_snapshot_xmax(p.snapshot)::text::bigint as xmax, holdfast.running_in(p.snapshot) as running, p.adopted_at,
         p.cluster is not distinct from holdfast.cluster() as is_ours
    from holdfast.projection p),
fresh as materialized (
  select h.job_id, h.seq, h.from_status, h.to_status
    from holdfast.job_history h
    cross join cursor c
   where h.xid >= c.xmax and holdfast.is_native(h.xid, h.xmin, h.at, c.adopted_at)
  union all
  select h.job_id, h.seq, h.from_status, h.to_status
    from holdfast.job_history h
    cross join cursor c
   where h.xid = any (c.running) and h.xid < c.xmax and holdfast.is_native(h.xid, h.xmin, h.at, c.adopted_at)
  union all
  select h.job_id, h.seq, h.from_status, h.to_status
    from holdfast.left_over l
    join holdfast.job_history h on h.job_id = l.job_id and h.seq = l.seq),
placed as materialized (
  select case when j.ties & 16 = 0 then j.queue::text else holdfast.queue_at(j.id, f.seq, j.queue) end as queue, j.task::text as task, f.from_status, f.to_status
    from fresh f
    join holdfast.job j on j.id = f.job_id),
happened as materialized (
  select a.data, j.task::text as task
    from holdfast.activity a
    join holdfast.job j on j.id = a.job_id
    cross join cursor c
   where a.kind = 'job.moved'
     and (((a.xid >= c.xmax or a.xid = any (c.running)) and holdfast.is_native(a.xid, a.xmin, a.at, c.adopted_at))
          or exists (select from holdfast.left_over l where l.activity = a.id))),
counted as (
  select s.queue, s.task, s.status, sum(s.n) as n   -- as text and without a bound: what somebody wrote there by hand is compared, too
    from (select t.queue, t.task, t.status::text as status, t.entered::numeric - t.departed as n from holdfast.tally t
          union all
          select p.queue, p.task, p.to_status::text, 1 from placed p
          union all
          select p.queue, p.task, p.from_status::text, -1 from placed p where p.from_status is not null
          union all
          select q.name, h.task, h.data ->> 'status', q.n
            from happened h
            cross join lateral (values (h.data ->> 'to', 1), (h.data ->> 'from', -1)) as q (name, n)) as s
   group by s.queue, s.task, s.status),
there as (
  select j.queue::text as queue, j.task::text as task, j.status::text as status, count(*) as n
    from holdfast.job j
   where j.status in ('PENDING', 'RETRY', 'WAITING', 'WAITING_FOR_APPROVAL') and j.status <> 'RUNNING'
   group by 1, 2, 3
  union all
  select j.queue::text, j.task::text, j.status::text, count(*)
    from holdfast.job j
   where j.holder is not null and j.status = 'RUNNING'
   group by 1, 2, 3
  union all
  select j.queue::text, j.task::text, j.status::text, count(*)
    from holdfast.job j
   where %(exact)s and j.status in ('COMPLETED', 'FAILED', 'CANCELLED')
   group by 1, 2, 3)
select 'B06' as code, null::uuid as job_id,
       format('queue %%s, task %%s: %%s jobs are %%s, and %%s are counted', queue, task, coalesce(t.n, 0), coalesce(status, 'in no status'), coalesce(c.n, 0)) as what
  from counted c
  full join there t using (queue, task, status)
  cross join cursor
 where coalesce(t.n, 0) <> coalesce(c.n, 0) and cursor.is_ours
   and (%(exact)s or coalesce(status, '') not in ('COMPLETED', 'FAILED', 'CANCELLED') or coalesce(c.n, 0) < coalesce(t.n, 0))
