-- Tasks at the head of each line that no live worker has: what nobody takes gathers there, so a bounded look is enough.
with recursive served as materialized (
  select distinct queue.name as queue, task.name as task
    from holdfast.worker w
   cross join jsonb_object_keys(w.queues) as queue (name)
   cross join unnest(w.tasks) as task (name)
   where w.died_at is null and w.wish is null and w.seen_at + w.lease >= holdfast.clock()),
tenants as (
  select q.name as queue, 1 as number, '' as tenant
    from unnest(%(queues)s::text[]) as q (name)
  union all
  select t.queue, t.number + 1, further.tenant
    from tenants t
   cross join lateral (
     select coalesce(j.tenant, '') as tenant
       from holdfast.job j
      where j.queue = t.queue and j.claim_order is not null and not j.suspect and coalesce(j.tenant, '') > t.tenant
      order by coalesce(j.tenant, '')
      limit 1) as further
   where t.number < 1000)
select head.queue, head.task, count(*)
  from tenants t
 cross join lateral (
   select j.queue, j.task
     from holdfast.job j
    where j.queue = t.queue and coalesce(j.tenant, '') = t.tenant and j.claim_order is not null and not j.suspect
    order by j.claim_order, j.id
    limit case when t.tenant = '' then 1000 else 20 end) as head
 where not exists (select from served s where s.queue = head.queue and s.task = head.task)
 group by head.queue, head.task
 order by count(*) desc
