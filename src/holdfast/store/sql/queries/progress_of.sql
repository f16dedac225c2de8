select p.job_id, p.at, p.done, p.total, p.note
  from holdfast.progress p
 where p.job_id = any (%(ids)s)
