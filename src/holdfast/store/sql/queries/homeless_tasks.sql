-- Tasks at the head of each line that no live worker has: what nobody takes gathers there, so a bounded look is enough.
select head.queue, head.task, count(*)
  from unnest(%(queues)s::text[]) as q (name)
  cross join lateral (select j.queue, j.task
                        from holdfast.job j
                       where j.queue = q.name and j.claim_order is not null and not j.suspect
                       order by j.claim_order, j.id
                       limit 1000) as head
 where not exists (select from holdfast.worker w
                    where w.died_at is null and w.seen_at + w.lease >= holdfast.clock()
                      and w.queues ? head.queue and head.task = any (w.tasks))
 group by head.queue, head.task
 order by count(*) desc
