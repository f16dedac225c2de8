-- Steps: what an attempt has done, saved before it goes on. Every write shows the fence.

-- A worker that is frozen between its last statement and its COMMIT keeps the job's lock, which the sweeper skips. So the server ends a
-- transaction that says nothing for as long as the lease: then the worker is declared dead too. A shorter time of the caller's own stands.
create or replace function holdfast.let_go_in_silence(p_holder uuid) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_set interval := current_setting('idle_in_transaction_session_timeout')::interval;
  v_lease interval;
begin
  select w.lease into v_lease from holdfast.worker w where w.id = p_holder;
  if v_lease is not null and (v_set = '0' or v_set > v_lease) then
    perform set_config('idle_in_transaction_session_timeout', (extract(epoch from least(v_lease, interval '1 day')) * 1000)::int::text, true);
  end if;
end $$;

-- Locks the job for this attempt, or tells it that the job is no longer its own.
create or replace function holdfast.hold_fence(p_job uuid, p_attempt int, p_claim_id uuid) returns holdfast.job
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
begin
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  if (v_job.status = 'RUNNING' and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id) is not true
     or exists (select from holdfast.dispatch d where d.id = v_job.holder) then   -- it has handed the job over
    raise exception 'attempt % no longer owns job %: it is %', p_attempt, p_job, coalesce(v_job.status::text, 'gone')
      using errcode = 'HF011', detail = jsonb_build_object('job', p_job, 'attempt', p_attempt, 'status', v_job.status)::text;
  end if;
  perform holdfast.let_go_in_silence(v_job.holder);
  return v_job;
end $$;

-- Without p_importance, as before it; dropped here and not by a migration, so that no moment is without a function of this name.
drop function if exists holdfast.save_step(uuid, int, uuid, text, text, text, jsonb, boolean, int, float8);

-- Saves a step; the same step saved again by the same attempt is a lost answer, and the first value stands.
create or replace function holdfast.save_step(
  p_job uuid, p_attempt int, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries int, p_took float8,
  p_importance text default null)
returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz;
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  if octet_length(p_value::text) > 1048576 then
    raise exception 'step % has a value of % bytes; at most 1,048,576 (1 MiB) are kept', quote_literal(p_name), octet_length(p_value::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and return its id.';
  end if;
  v_now := holdfast.clock();
  insert into holdfast.step (job_id, name, kind, after, attempt, tries, undoable, started_at, finished_at, value, importance)
  values (p_job, p_name, p_kind, p_after, p_attempt, p_tries, p_undoable, v_now - make_interval(secs => greatest(p_took, 0)), v_now, p_value,
          p_importance)
  on conflict do nothing;
end $$;

create or replace function holdfast.saved_steps(p_job uuid)
returns table (name text, kind text, after text, value text, undoable boolean)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select s.name::text, s.kind, s.after, s.value::text, s.undoable
    from holdfast.step s
   where s.job_id = p_job
   order by s.finished_at, s.name
$$;

create or replace function holdfast.save_checkpoint(p_job uuid, p_attempt int, p_claim_id uuid, p_value jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  if octet_length(p_value::text) > 1048576 then
    raise exception 'the checkpoint has % bytes; at most 1,048,576 (1 MiB) are kept', octet_length(p_value::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and keep its id.';
  end if;
  insert into holdfast.checkpoint as c (job_id, attempt, at, value)
  values (p_job, p_attempt, holdfast.clock(), p_value)
  on conflict (job_id) do update set attempt = excluded.attempt, at = excluded.at, value = excluded.value;
end $$;

create or replace function holdfast.last_checkpoint(p_job uuid) returns text
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select c.value::text from holdfast.checkpoint c where c.job_id = p_job
$$;

create or replace function holdfast.report_progress(
  p_job uuid, p_attempt int, p_claim_id uuid, p_done float8, p_total float8, p_note text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  insert into holdfast.progress as p (job_id, attempt, at, done, total, note)
  values (p_job, p_attempt, holdfast.clock(), p_done, p_total, p_note)
  on conflict (job_id) do update
     set attempt = excluded.attempt, at = excluded.at, done = excluded.done, total = excluded.total, note = excluded.note;
  perform holdfast.note(p_job, 'progress', null, jsonb_build_object('done', p_done, 'total', p_total, 'note', p_note));
end $$;

-- The COMPLETED of an attempt that writes it in a transaction of its own, together with whatever else that transaction does.
create or replace function holdfast.complete_here(p_job uuid, p_attempt int, p_claim_id uuid, p_result jsonb, p_logs jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_name text := holdfast.holder_name(v_job.holder);
  v_actor text := current_setting('holdfast.actor', true);
begin
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'COMPLETED', result = p_result, holder = null, deadline_at = null, suspect = false
   where j.id = p_job;
  perform holdfast.keep_logs(v_job, v_name, 'completed', p_logs);
  -- What hangs on the job was perhaps another's to lock, who was frozen. Whoever was declared dead while it waited for that is frozen too,
  -- and would keep the job in silence for one more lease, and the next of its kind for another.
  if exists (select from holdfast.worker w where w.id = v_job.holder and w.died_at is not null) then
    raise exception 'attempt % no longer owns job %: its worker was declared dead', p_attempt, p_job
      using errcode = 'HF011', detail = jsonb_build_object('job', p_job, 'attempt', p_attempt, 'status', v_job.status)::text;
  end if;
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);   -- what follows in the caller's transaction is not ours
end $$;

-- What an attempt logged that ends in a transaction of its own.
create or replace function holdfast.keep_logs(p_job holdfast.job, p_worker text, p_outcome text, p_logs jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_logs is not null then
    insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)
    values (p_job.id, p_job.attempt, p_worker, p_outcome, p_logs)
    on conflict do nothing;
    perform holdfast.forget_log_parts(array[p_job.id::uuid], array[p_job.attempt]);
  end if;
end $$;

create or replace function holdfast.is_completed_by(p_job uuid, p_attempt int, p_claim_id uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.job j
                  where j.id = p_job and j.attempt = p_attempt and j.claim_id = p_claim_id and j.status = 'COMPLETED')
$$;

create or replace function holdfast.holder_name(p_holder uuid) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce((select w.name from holdfast.worker w where w.id = p_holder), p_holder::text)
$$;
