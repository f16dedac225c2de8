-- What the minutes add up to, for days of which all are kept.
select (s.minute at time zone 'UTC')::date as day, s.task, sum(s.enqueued)::bigint, sum(s.started)::bigint, sum(s.completed)::bigint, sum(s.failed)::bigint,
       sum(s.cancelled)::bigint, sum(s.retried)::bigint
  from holdfast.statistic s
 group by 1, 2
