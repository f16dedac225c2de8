-- What the jobs of tenants take, those first that take the most.
select s.tenant, s.jobs, s.job_bytes, s.payload_bytes, s.result_bytes, s.history_bytes, s.share, s.measured_at
  from holdfast.storage s
 where %(tenant)s::text is null or s.tenant = %(tenant)s::text
 order by s.job_bytes + s.payload_bytes + s.result_bytes + s.history_bytes desc, s.tenant nulls first
 limit %(limit)s
