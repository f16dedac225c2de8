-- What tenants used within some days, those first that ran the most.
select u.tenant, sum(u.enqueued)::bigint, sum(u.runs)::bigint, sum(u.completed)::bigint, sum(u.failed)::bigint, sum(u.cancelled)::bigint,
       sum(u.retried)::bigint, sum(u.run_seconds), sum(u.external_seconds)
  from holdfast.usage u
 where u.day >= %(first)s::date and u.day <= %(last)s::date
   and (%(tenant)s::text is null or u.tenant = %(tenant)s::text)
 group by u.tenant
 order by sum(u.runs) desc, u.tenant nulls first
 limit %(limit)s
