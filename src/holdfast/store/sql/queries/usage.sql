select u.day, u.tenant, u.task, u.enqueued, u.runs, u.completed, u.failed, u.cancelled, u.retried, u.attempts, u.run_seconds, u.external_seconds
  from holdfast.usage u
 where (%(tenant)s::text is null or u.tenant = %(tenant)s::text)
   and (%(task)s::text is null or u.task = %(task)s::text)
   and u.day >= coalesce(%(first)s::date, '-infinity') and u.day <= coalesce(%(last)s::date, 'infinity')
 order by u.day, u.tenant nulls first, u.task
