select h.seq, h.from_status::text, h.to_status::text, h.attempt, h.at, h.actor, h.reason, h.metadata
  from holdfast.job_history h
 where h.job_id = %(job_id)s and h.seq > %(after)s
 order by h.seq
 limit %(limit)s
