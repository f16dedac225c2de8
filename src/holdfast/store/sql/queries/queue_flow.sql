-- What left each queue in the last hour, by five minutes; from the minutes alone. A range with two ends: without the other one the
-- planner would read all minutes.
with clock as materialized (
  select holdfast.clock() as now)
select s.queue, (extract(epoch from c.now - s.minute) / 300)::int, sum(s.completed)::bigint, sum(s.failed)::bigint
  from clock c
  join holdfast.statistic s on s.minute > c.now - interval '1 hour' and s.minute <= c.now
 where %(queue)s::text is null or s.queue = %(queue)s
 group by 1, 2
