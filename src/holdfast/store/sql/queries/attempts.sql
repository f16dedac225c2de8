select a.attempt, a.worker, a.outcome, a.at, a.error, a.logs, case when row_number() over (order by a.attempt) = 1 then holdfast.hidden_of(%(job_id)s) end
  from holdfast.attempt a
 where a.job_id = %(job_id)s and a.attempt > %(after)s
 order by a.attempt
 limit %(limit)s
