select p.at, p.done, p.total, p.note
  from holdfast.progress p
 where p.job_id = %(job_id)s
