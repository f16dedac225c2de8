-- Declared queues, those that live workers serve, and those with jobs in line: hops along the index, never a DISTINCT over jobs.
with recursive in_line as (
  (select j.queue
     from holdfast.job j
    where j.claim_order is not null and not j.suspect
    order by j.queue
    limit 1)
  union all
  select (select j.queue
            from holdfast.job j
           where j.claim_order is not null and not j.suspect and j.queue > l.queue
           order by j.queue
           limit 1)
    from in_line l
   where l.queue is not null),
live as materialized (
  select w.queues
    from holdfast.worker w
   where w.died_at is null and w.wish is null and w.seen_at + w.lease >= holdfast.clock()),
running as materialized (
  select r.queue, count(*) as jobs
    from (select j.queue from holdfast.job j where j.holder is not null limit %(cap)s) as r
   group by r.queue),
-- Whose time has come and whom nobody has put in line: while no worker runs, all that is tried again or delayed is here.
overdue as materialized (
  select d.queue, count(*) as jobs, min(d.due_at) as since
    from (select j.queue, j.due_at
            from holdfast.job j
           where j.due_at <= holdfast.clock() and j.due_at is not null and j.claim_order is null and j.held_by is null
           order by j.due_at
           limit %(cap)s) as d
   group by d.queue),
named as (
  select q.name from holdfast.queue q
  union select l.queue from in_line l where l.queue is not null
  union select o.queue from overdue o
  union select r.queue from running r
  union select k from live, jsonb_object_keys(live.queues) as k)
select n.name, paused.at, paused.by, paused.reason, paused.resume_at,
       (select count(*) from (select from holdfast.job j
                               where j.queue = n.name and j.claim_order is not null and not j.suspect limit %(cap)s) as c)
       + (select count(*) from (select from holdfast.job j
                                 where j.queue = n.name and j.claim_order is not null and j.suspect limit %(cap)s) as c)
       + coalesce(overdue.jobs, 0),
       coalesce(running.jobs, 0),
       least(head.since, overdue.since),
       (select count(*) from live where live.queues ? n.name),
       holdfast.clock(),
       (select q.job_limit from holdfast.queue q where q.name = n.name)
  from named n
  left join running on running.queue = n.name
  left join overdue on overdue.queue = n.name
  left join lateral (select q.paused_at as at, coalesce(q.paused_by, '?') as by, q.reason, q.resume_at
                       from holdfast.queue q
                      where q.name = n.name and q.paused_at is not null
                        and (q.resume_at is null or q.resume_at > holdfast.clock())) as paused on true
  -- The oldest at the head of any tenant's line; a thousand tenants are enough to know how long people wait.
  left join lateral (with recursive heads as (
                       (select 1 as number, coalesce(j.tenant, '') as tenant, j.claim_order, greatest(j.created_at, j.due_at) as since
                          from holdfast.job j
                         where j.queue = n.name and j.claim_order is not null and not j.suspect
                         order by coalesce(j.tenant, ''), j.claim_order, j.id
                         limit 1)
                       union all
                       select h.number + 1, further.tenant, further.claim_order, further.since
                         from heads h
                        cross join lateral (
                          select coalesce(j.tenant, '') as tenant, j.claim_order, greatest(j.created_at, j.due_at) as since
                            from holdfast.job j
                           where j.queue = n.name and j.claim_order is not null and not j.suspect and coalesce(j.tenant, '') > h.tenant
                           order by coalesce(j.tenant, ''), j.claim_order, j.id
                           limit 1) as further
                        where h.number < 1000)
                     select h.since from heads h order by h.claim_order limit 1) as head on true
 order by n.name
