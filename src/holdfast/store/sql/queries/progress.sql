select p.at, p.done, p.total, p.note, holdfast.hidden_of(p.job_id)
  from holdfast.progress p
 where p.job_id = %(job_id)s
