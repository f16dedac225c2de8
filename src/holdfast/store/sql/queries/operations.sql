select j.status::text, o.id, o.created_at, o.tenant, o.action, o.priority, o.queue, o.search, o.actor, o.reason, o.total,
       coalesce(sum(c.done), 0), coalesce(sum(c.skipped), 0), j.finished_at
  from (select o.*
          from holdfast.operation o
         where (%(id)s::uuid is null or o.id = %(id)s)
           and (%(tenant)s::text is null or o.tenant = %(tenant)s)
           and (%(before)s::uuid is null or o.id < %(before)s)
         order by o.id desc
         limit %(limit)s) as o
  left join holdfast.operation_chunk c on c.operation_id = o.id
  left join holdfast.job j on j.id = o.id
 group by o.id, o.created_at, o.tenant, o.action, o.priority, o.queue, o.search, o.actor, o.reason, o.total, j.status, j.finished_at
 order by o.id desc
