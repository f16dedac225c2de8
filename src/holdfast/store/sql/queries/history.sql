select h.seq, h.from_status::text, h.to_status::text, h.attempt, h.at, h.actor, h.reason, h.metadata,
       case when row_number() over (order by h.seq) = 1 then holdfast.hidden_of(%(job_id)s) end
  from holdfast.job_history h
 where h.job_id = %(job_id)s and h.seq > %(after)s
 order by h.seq
 limit %(limit)s
