select s.name, s.kind, s.attempt, s.tries, s.undoable, s.started_at, s.finished_at, s.value,
       (select t.options -> 'redact' from holdfast.job j join holdfast.task t on t.name = j.task where j.id = s.job_id)
  from holdfast.step s
 where s.job_id = %(job_id)s
 order by s.finished_at, s.name
