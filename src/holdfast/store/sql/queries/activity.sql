select a.at, a.kind, a.actor, a.data, a.id, case when row_number() over (order by a.id) = 1 then holdfast.hidden_of(%(job_id)s) end
  from holdfast.activity a
 where a.job_id = %(job_id)s and a.kind <> 'progress' and a.id > %(after)s
 order by a.id
 limit %(limit)s
