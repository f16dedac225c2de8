select a.at, a.kind, a.actor, a.data
  from holdfast.activity a
 where a.job_id = %(job_id)s and a.kind <> 'progress'
 order by a.id
