-- B, conservation: no job is lost or doubled, as far as the database alone can tell.
select 'B04' as code, j.id::uuid as job_id, format('job %%s holds the key %%s of task %%s too', o.id, j.key, j.task) as what
  from holdfast.job j
  join holdfast.job o on coalesce(o.tenant, '') = coalesce(j.tenant, '') and o.task = j.task and o.key = j.key and o.key_held and o.id <> j.id
 where j.id >= %(first)s::uuid and j.id <= %(last)s::uuid and j.key_held
union all
select 'B05', h.job_id, format('its history of %%s rows is there, and the job is not', count(*))
  from holdfast.job_history h
 where h.job_id >= %(first)s::uuid and h.job_id <= %(last)s::uuid
   and not exists (select from holdfast.job j where j.id = h.job_id)
 group by h.job_id
union all
select 'B07', j.id::uuid, format('it is %%s and holds its key, whose scope is %%s', j.status, j.key_scope)
  from holdfast.job j
 where j.id >= %(first)s::uuid and j.id <= %(last)s::uuid and j.key_held and j.finished_at is not null
   and not (j.key_scope = 'ever' or (j.key_scope = 'success' and j.status = 'COMPLETED'))
union all
select 'B08', j.id::uuid, format('job %%s is a retry of the same job', o.id)
  from holdfast.job j
  join holdfast.job o on o.retry_of = j.retry_of and o.id <> j.id
 where j.id >= %(first)s::uuid and j.id <= %(last)s::uuid
