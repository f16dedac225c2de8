select d.id, d.endpoint, d.event_id, d.type, d.tenant, d.status, d.received_at, d.ended_at, d.tries, d.replays, d.replayed_by, d.error,
       holdfast.jobs_of(d), octet_length(d.body), holdfast.clock()
  from holdfast.webhook_delivery d
 where d.id >= %(first)s and d.id <= %(last)s
   and (%(endpoint)s::text is null or d.endpoint = %(endpoint)s::text)
   and (%(status)s::text is null or d.status = %(status)s::text)
   and (%(tenant)s::text is null or d.tenant = %(tenant)s::text)
 order by d.id desc
 limit %(limit)s
