select p.job_id, p.at, p.done, p.total, p.note, case when p.note is not null then holdfast.hidden_of(p.job_id) end
  from holdfast.progress p
 where p.job_id = any (%(ids)s)
