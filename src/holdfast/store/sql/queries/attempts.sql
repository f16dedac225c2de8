select a.attempt, a.worker, a.outcome, a.at, a.error, a.logs
  from holdfast.attempt a
 where a.job_id = %(job_id)s and a.attempt > %(after)s
 order by a.attempt
 limit %(limit)s
