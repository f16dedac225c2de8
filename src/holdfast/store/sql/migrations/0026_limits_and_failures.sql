-- What claims need to know of a limited queue, and what an alert of a tenant's failures counts.

-- What came into the line before its queue had a limit has no slot, and claims need not walk it.
alter table holdfast.queue
  add column cleared boolean not null default true;      -- false from the limit until a sweep has found no job without a slot

-- Only what FAILED: an end of any other kind costs nothing more.
create index job_failed_of_tenant on holdfast.job (tenant, task, finished_at)
  where status = 'FAILED' and tenant is not null;                                                -- further_failures
