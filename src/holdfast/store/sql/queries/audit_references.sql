-- F, references and tenants: nothing is of nobody, nothing of one tenant is another's, nothing is left in ended jobs' hands.
with part as (
  select s.job_id, 'step ' || s.name as what from holdfast.step s where s.job_id >= %(first)s::uuid and s.job_id <= %(last)s::uuid
  union all
  select c.job_id, 'a checkpoint' from holdfast.checkpoint c where c.job_id >= %(first)s::uuid and c.job_id <= %(last)s::uuid
  union all
  select p.job_id, 'progress' from holdfast.progress p where p.job_id >= %(first)s::uuid and p.job_id <= %(last)s::uuid
  union all
  select a.job_id, 'attempt ' || a.attempt from holdfast.attempt a where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid
  union all
  select l.job_id, 'a part of its log' from holdfast.log_part l where l.job_id >= %(first)s::uuid and l.job_id <= %(last)s::uuid
  union all
  select w.job_id, 'a wait' from holdfast.wait w where w.job_id >= %(first)s::uuid and w.job_id <= %(last)s::uuid
  union all
  select d.job_id, 'a dependency' from holdfast.dependency d where d.job_id >= %(first)s::uuid and d.job_id <= %(last)s::uuid
  union all
  select d.needs, 'somebody''s dependency on it' from holdfast.dependency d where d.needs >= %(first)s::uuid and d.needs <= %(last)s::uuid
  union all
  select a.job_id, 'activity ' || a.kind from holdfast.activity a where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid
  union all
  select a.job_id, 'approval ' || a.name from holdfast.approval a where a.job_id >= %(first)s::uuid and a.job_id <= %(last)s::uuid
  union all
  select d.job_id, 'a run at executor ' || d.executor from holdfast.dispatch d where d.job_id >= %(first)s::uuid and d.job_id <= %(last)s::uuid
  union all
  select n.job_id, 'a callback''s answer' from holdfast.callback_nonce n where n.job_id >= %(first)s::uuid and n.job_id <= %(last)s::uuid
  union all
  select s.job_id, 'a slot of ' || s.key from holdfast.slot s where s.job_id >= %(first)s::uuid and s.job_id <= %(last)s::uuid),
j as materialized (
  select b.id::uuid as id, b.status, b.tenant::text as tenant, b.task::text as task, b.retry_of, b.compensates, b.holder, b.approval_id, b.claim_order, b.held_by,
         b.finished_at, b.started_at
    from holdfast.job b
   where b.id >= %(first)s::uuid and b.id <= %(last)s::uuid)
select 'F03' as code, p.job_id, format('%%s is there, and the job is not', p.what) as what
  from part p
 where not exists (select from j where j.id = p.job_id)
union all
select 'F03', j.id, format('it waits for approval %%s, which is not there, or another job''s', j.approval_id)
  from j
 where j.approval_id is not null and not exists (select from holdfast.approval a where a.id = j.approval_id and a.job_id = j.id)
union all
select 'F03', j.id, format('it is held by %%s, which is neither a worker nor a run', j.holder)
  from j
 where j.holder is not null
   and not exists (select from holdfast.worker w where w.id = j.holder)
   and not exists (select from holdfast.dispatch d where d.id = j.holder and d.job_id = j.id)
union all
select 'F02', j.id, format('it is of task %%s and tenant %%s, and job %%s, %%s, of task %%s and tenant %%s', j.task, coalesce(j.tenant, 'nobody'), o.id,
         case when o.id = j.retry_of then 'which it retries' else 'which it undoes' end, o.task, coalesce(o.tenant::text, 'nobody'))
  from j
  join holdfast.job o on o.id = any (array[j.retry_of, j.compensates])
 where (o.tenant::text, o.task::text) is distinct from (j.tenant, j.task)
union all
select 'F02', j.id, format('step %%s took event %%s of tenant %%s', s.name, e.id, e.tenant)
  from j
  join holdfast.step s on s.job_id = j.id and s.kind = 'event'
  join holdfast.event e on e.id = substring(s.value ->> 'id' from '^[0-9]{1,18}$')::bigint
 where e.tenant is not null and e.tenant::text is distinct from j.tenant
union all
select 'F03', j.id, format('step %%s took an event, and does not say which', s.name)
  from j
  join holdfast.step s on s.job_id = j.id and s.kind = 'event'
 where coalesce(s.value ->> 'id', '') !~ '^[0-9]{1,18}$' and s.value ->> 'timed_out' is distinct from 'true'
union all
select 'F05', j.id, format('it has ended and holds a slot of %%s', s.key)
  from j
  join holdfast.slot s on s.job_id = j.id
 where j.finished_at is not null
union all
select 'F05', r.job_id, format('a start under rate %%s is kept for it, and it is not in line', r.key)
  from holdfast.rate_slot r
 where r.job_id >= %(first)s::uuid and r.job_id <= %(last)s::uuid and r.used_at is null
   and not exists (select from j where j.id = r.job_id and j.claim_order is not null)
union all
select 'F05', j.id, format('it is %%s, and its wait for %%s is still there', j.status, coalesce('event ' || w.event, w.remaining || ' jobs'))
  from j
  join holdfast.wait w on w.job_id = j.id
 where j.status in ('FAILED', 'CANCELLED')
   -- The last end of the jobs that it is for removes it.
   and not (coalesce(w.remaining, 0) > 0
            and exists (select from holdfast.dependency d join holdfast.job n on n.id = any (array[d.needs]) where d.job_id = j.id and d.position <> 0 and n.finished_at is null))
union all
select 'F05', j.id, format('it undoes another job and holds a slot of %%s all the same', s.key)
  from j
  join holdfast.slot s on s.job_id = j.id
 where j.compensates is not null and s.key not like 'queue:%%'
union all
select 'F07', j.id, format('it %%s job %%s, which is %%s', case when o.id = j.retry_of then 'retries' else 'undoes' end, o.id, o.status)
  from j
  join holdfast.job o on o.id = any (array[j.retry_of, j.compensates])
 where o.status <> 'FAILED' and not (o.status = 'CANCELLED' and o.id is distinct from j.retry_of)
