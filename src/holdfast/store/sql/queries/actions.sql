select a.id, a.at, a.actor, a.address, a.action, a.target, a.tenant, a.reason, a.data
  from holdfast.audit a
 where a.id < coalesce(%(before)s::bigint, 9223372036854775807)
   and (%(tenant)s::text is null or a.tenant = %(tenant)s::text)
   and (%(target)s::text is null or a.target = %(target)s::text)
 order by a.id desc
 limit %(limit)s
