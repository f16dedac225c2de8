select r.slot, r.last_slot, r.times, r.outcome, r.at, r.job_id, r.actor, r.detail
  from holdfast.schedule_run r
 where r.schedule = %(schedule)s
 order by r.slot desc
 limit %(limit)s
