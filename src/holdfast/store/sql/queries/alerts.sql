select a.id, a.rule, a.about, a.severity, a.message, a.job_id, a.count, a.opened_at, a.last_seen_at, a.closed_at, holdfast.clock()
  from holdfast.alert a
 where (%(alert_id)s::uuid is null or a.id = %(alert_id)s::uuid)
   and (not %(only_open)s::boolean or a.closed_at is null)
 order by a.id desc
 limit %(limit)s
