-- Minutes without any move are left out.
select s.minute, sum(s.enqueued), sum(s.started), sum(s.completed), sum(s.failed)
  from holdfast.statistic s
 where s.minute >= date_bin('1 minute', %(since)s, '2000-01-01') and (%(task)s::text is null or s.task = %(task)s::text)
 group by s.minute
 order by s.minute
