select a.attempt, a.worker, a.outcome, a.at, a.error, a.logs
  from holdfast.attempt a
 where a.job_id = %(job_id)s
 order by a.attempt
