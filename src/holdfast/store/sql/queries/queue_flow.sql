-- What left each queue in the last hour, by five minutes; from the minutes alone. A range with two ends: without the other one the
-- planner would read all minutes. The hour first, then the queue: told both at once, it may read all that the queue ever did.
with clock as materialized (
  select holdfast.clock() as now),
lately as materialized (
  select s.queue, (extract(epoch from c.now - s.minute) / 300)::int as ago, s.completed, s.failed
    from clock c
    join holdfast.statistic s on s.minute > c.now - interval '1 hour' and s.minute <= c.now)
select l.queue, l.ago, sum(l.completed)::bigint, sum(l.failed)::bigint
  from lately l
 where %(queue)s::text is null or l.queue = %(queue)s
 group by 1, 2
