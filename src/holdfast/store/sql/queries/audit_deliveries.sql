-- E03, deliveries: an event of an endpoint is one row.
select 'E03' as code, null::uuid as job_id, format('event %%s of endpoint %%s has %%s deliveries', d.event_id, d.endpoint, count(*)) as what
  from holdfast.webhook_delivery d
 group by d.endpoint, d.event_id
having count(*) > 1
