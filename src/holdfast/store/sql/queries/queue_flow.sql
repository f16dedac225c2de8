-- What left each queue in the last hour, by five minutes; from the minutes alone.
select s.queue, (extract(epoch from holdfast.clock() - s.minute) / 300)::int, sum(s.completed)::bigint, sum(s.failed)::bigint
  from holdfast.statistic s
 where s.minute > holdfast.clock() - interval '1 hour' and (%(queue)s::text is null or s.queue = %(queue)s)
 group by 1, 2
