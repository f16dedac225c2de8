-- Counts from the tally, as of the last pass. Ages by bounded looks along an index: at the line's head, or at the oldest thousand of a status.
select t.queue, t.status::text, t.jobs::bigint,
       extract(epoch from holdfast.clock() - case
         when t.status = 'PENDING' then
           (select greatest(j.created_at, j.due_at)
              from holdfast.job j
             where j.queue = t.queue and j.claim_order is not null and not j.suspect
             order by j.claim_order, j.id
             limit 1)
         when t.status = 'RUNNING' then
           (select min(h.updated_at) filter (where h.queue = t.queue)
              from (select j.queue, j.updated_at from holdfast.job j where j.holder is not null limit 1000) as h)
         when not holdfast.is_terminal(t.status) then
           (select min(o.updated_at) filter (where o.queue = t.queue)
              from (select j.queue, j.updated_at
                      from holdfast.job j
                     where j.status = t.status and j.status <> 'RUNNING'
                     order by j.id
                     limit 1000) as o)
         end)::float8
  from (select t.queue, t.status, sum(t.entered - t.departed) as jobs from holdfast.tally t group by t.queue, t.status) as t
 where t.jobs <> 0
 order by t.queue, t.status
