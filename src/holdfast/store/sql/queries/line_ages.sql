-- How long the longest wait in each queue's line has lasted. Hops from tenant to tenant along the index that claims use; a thousand
-- tenants are enough to know how long people wait.
select q.queue,
       coalesce(extract(epoch from holdfast.clock() - head.since), 0)::float8
  from (select distinct t.queue from holdfast.tally t) as q
  left join lateral (with recursive heads as (
                       (select 1 as number, coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
                          from holdfast.job j
                         where j.queue = q.queue and j.claim_order is not null and not j.suspect
                         order by coalesce(j.tenant, ''), j.claim_order, j.id
                         limit 1)
                       union all
                       select h.number + 1, further.tenant, further.since
                         from heads h
                        cross join lateral (
                          select coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
                            from holdfast.job j
                           where j.queue = q.queue and j.claim_order is not null and not j.suspect and coalesce(j.tenant, '') > h.tenant
                           order by coalesce(j.tenant, ''), j.claim_order, j.id
                           limit 1) as further
                        where h.number < 1000)
                     select min(h.since) as since from heads h) as head on true
 order by q.queue
