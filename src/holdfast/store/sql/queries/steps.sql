select s.name, s.kind, s.attempt, s.tries, s.undoable, s.started_at, s.finished_at,
       case when octet_length(s.value::text) <= %(largest)s::int then s.value end, octet_length(s.value::text), s.importance,
       case when row_number() over (order by s.finished_at, s.name) = 1 then holdfast.hidden_of(%(job_id)s) end
  from holdfast.step s
 where s.job_id = %(job_id)s and (s.finished_at, s.name) > (%(after)s::timestamptz, %(after_name)s::text)
 order by s.finished_at, s.name
 limit %(limit)s
