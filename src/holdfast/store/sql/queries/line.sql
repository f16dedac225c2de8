-- What waits in a queue, by task: in line, or for its time. Along the indexes by which jobs are claimed and admitted; capped.
with waiting as materialized (
  (select j.task, greatest(j.created_at, j.due_at) as since
     from holdfast.job j
    where j.queue = %(queue)s and j.claim_order is not null and not j.suspect
    limit %(cap)s)
  union all
  (select j.task, greatest(j.created_at, j.due_at)
     from holdfast.job j
    where j.queue = %(queue)s and j.claim_order is not null and j.suspect
    limit %(cap)s)
  union all
  -- The index of what is due knows no queue: the next of all are looked at, and this one's taken.
  (select d.task, d.due_at
     from (select j.queue, j.task, j.due_at
             from holdfast.job j
            where j.due_at is not null and j.claim_order is null and j.held_by is null
            order by j.due_at
            limit %(looked_at)s) as d
    where d.queue = %(queue)s
    limit %(cap)s))
select w.task::text, count(*), min(w.since), holdfast.clock()
  from waiting w
 group by w.task
union all
select null, 0, null, holdfast.clock()
 order by 1 nulls last
