select exists (
  select from holdfast.audit a
   where a.target = %(target)s and a.action = 'job.reveal' and a.actor = %(actor)s and a.at > holdfast.clock() - %(within)s::interval)
