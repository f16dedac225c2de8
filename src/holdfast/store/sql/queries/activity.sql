select a.at, a.kind, a.actor, a.data, a.id
  from holdfast.activity a
 where a.job_id = %(job_id)s and a.kind <> 'progress' and a.id > %(after)s
 order by a.id
 limit %(limit)s
