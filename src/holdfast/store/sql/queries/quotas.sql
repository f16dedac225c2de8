select q.tenant, q.task, q.period, q.measure, q.soft, q.hard,
       (select coalesce(sum(case q.measure when 'enqueued' then u.enqueued when 'runs' then u.runs else u.run_seconds end), 0)
          from holdfast.usage u
         where u.tenant = q.tenant and (q.task is null or u.task = q.task)
           and u.day >= (date_trunc(q.period, holdfast.clock() at time zone 'UTC'))::date),
       q.reached_until
  from holdfast.quota q
 where %(tenant)s::text is null or q.tenant = %(tenant)s::text
 order by q.tenant, q.task nulls first, q.period, q.measure
