-- E03, webhooks: a job that an endpoint made belongs to a delivery, and to its tenant. Deliveries are known for thirty days.
-- Who asked for a job is the caller's own word, and so is who retried it or began what it undoes; only of the others an endpoint is told by
-- the transaction. Read are those of the slice's own times, and those that wrote one of its jobs down.
with born as materialized (
  select h.job_id, h.at, h.xid, substr(h.actor, 9) as endpoint, j.tenant::text as tenant
    from holdfast.job_history h
    join holdfast.job j on j.id = h.job_id
   where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid and h.seq = 1 and h.actor like 'webhook:%%'
     and j.requested_by is null and j.retry_of is null and j.compensates is null
     and h.at > holdfast.clock() - interval '29 days'),
handled as materialized (
  select d.endpoint::text as endpoint, d.tenant::text as tenant, d.xid, d.ended_at
    from holdfast.webhook_delivery d
   where d.ended_at > (select min(b.at) from born b) - interval '1 minute' and d.ended_at <= (select max(b.at) from born b) and d.xid is not null),
matched as materialized (
  select b.job_id, b.tenant, d.tenant::text as of_tenant
    from born b
    join holdfast.webhook_delivery d on d.jobs @> array[b.job_id] and d.jobs <> '{}'
  union all
  select b.job_id, b.tenant, d.tenant
    from born b
    join handled d on d.endpoint = b.endpoint and d.xid = b.xid and d.ended_at <= b.at and d.ended_at > b.at - interval '1 minute')
select 'E03' as code, b.job_id, format('endpoint %%s made it, and no delivery says so', b.endpoint) as what
  from born b
 where not exists (select from matched m where m.job_id = b.job_id)
union all
select 'E03', b.job_id, format('%%s deliveries of endpoint %%s made it', count(*), b.endpoint)
  from born b
  join matched m on m.job_id = b.job_id
 group by b.job_id, b.endpoint
having count(*) > 1
union all
select 'F02', m.job_id, format('it is of tenant %%s, and the delivery that made it of tenant %%s', coalesce(m.tenant, 'nobody'), m.of_tenant)
  from matched m
 where m.of_tenant is not null and m.of_tenant is distinct from m.tenant
