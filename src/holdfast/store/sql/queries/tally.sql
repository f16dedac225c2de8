select t.queue, t.task, t.status::text, t.entered, t.entered - t.departed
  from holdfast.tally t
 order by t.queue, t.task, t.status
