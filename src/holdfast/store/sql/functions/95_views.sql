-- What readers without a right to payloads see: no payload, result, error text or metadata.

create or replace view holdfast.job_overview as
select j.id, j.task, j.queue, j.status, j.priority, j.attempt, j.retry_count, j.max_retries, j.crash_count, j.created_at, j.updated_at,
       j.due_at, j.finished_at, j.tenant, j.subject, j.label, j.tags, j.retry_of, substring(j.error ->> 'type' from '^[A-Za-z_][A-Za-z0-9_.]{0,99}$') as error_type
  from holdfast.job j
 where holdfast.may_see(j.tenant);

create or replace view holdfast.history_overview as
select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.at, h.actor
  from holdfast.job_history h
 where exists (select from holdfast.job j where j.id = h.job_id and holdfast.may_see(j.tenant));

-- What a task redacts of a job, by place and with the payload in which it stands; null where nothing is redacted. It is for those who
-- write and show what is said about the job: without it they could not tell what to leave out.
create or replace function holdfast.hidden_of(p_job uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload, 'task', j.task, 'tenant', j.tenant)
    from holdfast.job j
    join holdfast.task t on t.name = j.task
   where j.id = p_job and t.options ? 'redact' and holdfast.may_touch(j.tenant)
$$;

-- What a producer may know of a job whose id it holds: where it is and what came of it.
create or replace function holdfast.job_outcome(p_id uuid, out status holdfast.job_status, out result text, out error text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_fault boolean;
begin
  -- A run that fell silent is found by whoever looks, also where no worker sweeps.
  select j.status, j.result::text, j.error::text,
         j.status = 'RUNNING' and (select holdfast.run_fault(d) is not null from holdfast.dispatch d where d.id = j.holder)
    into status, result, error, v_fault
    from holdfast.job j where j.id = p_id and holdfast.may_touch(j.tenant);
  if v_fault and holdfast.check_run(p_id) then
    select j.status, j.result::text, j.error::text into status, result, error from holdfast.job j where j.id = p_id;
  end if;
end $$;

-- The same with all that led there, as one document: for those who keep to a vocabulary of their own, as Django's tasks do.
create or replace function holdfast.job_report(p_id uuid) returns jsonb
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select jsonb_build_object(
           'task', j.task, 'queue', j.queue, 'priority', j.priority, 'status', j.status, 'payload', j.payload, 'result', j.result,
           'created_at', j.created_at, 'finished_at', j.finished_at, 'due_at', j.due_at,
           'starts', (select coalesce(jsonb_agg(jsonb_build_object('at', h.at, 'by', h.actor) order by h.seq), '[]')
                        from holdfast.job_history h
                       where h.job_id = j.id and h.to_status = 'RUNNING'),
           'errors', (select coalesce(jsonb_agg(a.error order by a.attempt), '[]')
                        from holdfast.attempt a
                       where a.job_id = j.id and a.error is not null))
    from holdfast.job j
   where j.id = p_id and holdfast.may_touch(j.tenant)
$$;
