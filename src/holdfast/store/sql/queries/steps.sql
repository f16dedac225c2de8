select s.name, s.kind, s.attempt, s.tries, s.undoable, s.started_at, s.finished_at, s.value
  from holdfast.step s
 where s.job_id = %(job_id)s
 order by s.finished_at, s.name
