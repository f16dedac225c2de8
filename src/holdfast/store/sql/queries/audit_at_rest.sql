-- What holds once nobody works any more: no lease is overdue (A12), nothing waits for what nobody will bring (A14), and what runs
-- holds the slots of its limits (F06). Each reason to wait below is one that somebody ends: a slot's end, time, an operator, an
-- event, another job's end, a worker or a run.
with j as materialized (
  select b.*
    from holdfast.job b
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid and b.finished_at is null)
select 'A12' as code, j.id::uuid as job_id, format('worker %%s holds it and has not been heard of since %%s', w.name, w.seen_at) as what
  from j
  join holdfast.worker w on w.id = j.holder
 where w.died_at is not null or greatest(w.seen_at, pg_postmaster_start_time()) + least(w.lease, interval '9999 days') < holdfast.clock() - interval '1 minute'
union all
select 'A12', j.id::uuid, format('attempt %%s was to end by %%s', j.attempt, j.deadline_at)
  from j
 where j.deadline_at < holdfast.clock() - interval '1 minute'
union all
select 'A14', j.id::uuid, format('it is %%s and held back by %%s, which nobody will end', j.status, coalesce(j.held_by, 'nothing'))
  from j
 where j.holder is null and j.claim_order is null
   and not (j.held_by is null and j.due_at is not null)
   and not (j.status = 'WAITING_FOR_APPROVAL' and j.held_by is null
            and exists (select from holdfast.approval a where a.id = j.approval_id and a.decided_at is null))
   and (case
     when j.held_by like 'limit:%%' then exists (select from holdfast.slot s where s.key = substr(j.held_by, 7) and s.n is not null)
     when j.held_by like 'rate:%%' then exists (select from holdfast.rate_wait w where w.key = substr(j.held_by, 6))
     when j.held_by like 'task:%%' then exists (select from holdfast.task t where t.name = substr(j.held_by, 6) and t.paused_at is not null)
     when j.held_by like 'flag:%%' then exists (select from holdfast.task t join holdfast.flag f on f.name = t.options ->> 'flag'
                                                 where t.name = j.task and holdfast.flag_share(f.name) < 100)
     when j.held_by like 'event %%' then exists (select from holdfast.wait w where w.job_id = j.id and 'event ' || w.event = j.held_by)
     when j.held_by like '%%jobs' then
       exists (select from holdfast.wait w where w.job_id = j.id and w.remaining = (
         select count(*) from holdfast.dependency d join holdfast.job n on n.id = d.needs where d.job_id = j.id and d.position <> 0 and n.finished_at is null))
     when j.held_by like 'compensation %%' then
       exists (select from holdfast.job c where c.compensates = j.retry_of and (c.finished_at is null or c.status = 'FAILED'))
     when j.held_by ~ '^(worker|run):' then j.due_at is not null
   end) is not true
union all
select 'A14', j.id::uuid, format('it is in line and held back by %%s at once', j.held_by)
  from j
 where j.claim_order is not null and j.held_by is not null
union all
-- What a task declares is read as JSON and not by limits_of: whatever else stands there ends no audit.
select distinct 'F06', j.id::uuid, format('it runs and holds no slot of %%s', l.key)
  from j
  join holdfast.task t on t.name = j.task
  cross join lateral jsonb_array_elements(case when jsonb_typeof(t.options -> 'limits') = 'array' then t.options -> 'limits' else '[]' end) as d
  cross join lateral (select holdfast.filled_key(d ->> 'key', j.payload, j.tenant, j.subject) as key) as l
 where j.status = 'RUNNING' and j.compensates is null and l.key not like 'queue:%%' and not holdfast.has_slot(j.id, l.key)
