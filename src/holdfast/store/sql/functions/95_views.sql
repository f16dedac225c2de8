-- What readers without a right to payloads see: no payload, result, error text or metadata.

create or replace view holdfast.job_overview as
select j.id, j.task, j.queue, j.status, j.priority, j.attempt, j.retry_count, j.max_retries, j.crash_count, j.created_at, j.updated_at,
       j.due_at, j.finished_at, j.tenant, j.subject, j.label, j.tags, j.retry_of, j.error ->> 'type' as error_type
  from holdfast.job j;

create or replace view holdfast.history_overview as
select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.at, h.actor
  from holdfast.job_history h;

-- What a producer may know of a job whose id it holds: where it is and what came of it.
create or replace function holdfast.job_outcome(p_id uuid, out status holdfast.job_status, out result text, out error text)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select j.status, j.result::text, j.error::text from holdfast.job j where j.id = p_id
$$;
