-- How jobs moved, in spans of equal length, from the minutes alone. Spans without any move are left out.
select date_bin(%(width)s::interval, s.minute, %(first)s::timestamptz) as at,
       sum(s.enqueued), sum(s.started), sum(s.suspended), sum(s.retried), sum(s.completed), sum(s.failed), sum(s.cancelled), count(*)
  from holdfast.statistic s
 where s.minute >= %(first)s::timestamptz and s.minute < %(last)s::timestamptz
 group by 1
 order by 1
