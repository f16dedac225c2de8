-- Four queries for a dashboard. They read the engine's tables: say whose rows you want before them, in the same transaction:
--   begin; select holdfast.enter('*'); … commit;
-- A rollback is a job of the same task; it compensates another, and is not counted here.

-- success rate of the last 24 hours
select count(*) filter (where j.status = 'COMPLETED')::float8 / nullif(count(*), 0) as success_rate, count(*) as ended
  from holdfast.job j
 where j.task = 'provision_workspace' and j.compensates is null
   and j.status in ('COMPLETED', 'FAILED') and j.finished_at > holdfast.clock() - interval '24 hours';

-- mean and p95 duration in seconds, from finalized to ready
select avg(extract(epoch from j.finished_at - j.created_at))::float8 as mean,
       percentile_cont(0.95) within group (order by extract(epoch from j.finished_at - j.created_at)) as p95
  from holdfast.job j
 where j.task = 'provision_workspace' and j.compensates is null
   and j.status = 'COMPLETED' and j.finished_at > holdfast.clock() - interval '24 hours';

-- how many retries workspaces needed
select j.retry_count as retries, count(*) as jobs
  from holdfast.job j
 where j.task = 'provision_workspace' and j.compensates is null and j.status in ('COMPLETED', 'FAILED')
 group by j.retry_count
 order by j.retry_count;

-- the queue by status, in the product's words, with ages in seconds
select case j.status when 'PENDING' then 'pending' when 'RETRY' then 'pending' when 'RUNNING' then 'processing' when 'COMPLETED' then 'completed'
                     when 'FAILED' then case when exists (select from holdfast.job c where c.compensates = j.id and c.finished_at is null)
                                             then 'rollback_needed' else 'failed' end
       else lower(j.status::text) end as status,
       count(*) as jobs, extract(epoch from max(now) - min(j.updated_at))::float8 as oldest, extract(epoch from max(now) - max(j.updated_at))::float8 as newest
  from holdfast.job j
 cross join holdfast.clock() as now
 where j.task = 'provision_workspace' and j.compensates is null
 group by 1
 order by 1;
