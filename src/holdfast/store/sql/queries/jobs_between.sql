select j.id, j.task, j.status::text
  from holdfast.job j
 where j.id between %(first)s and %(last)s
 order by j.id
 limit %(limit)s
