-- Dispatch: jobs in the hands of outside executors. The job stays RUNNING; its holder is the dispatch, and no longer a worker.
-- Lock the job before its dispatch, everywhere.

-- An attempt's last act. What is written here is the intent; a worker that knows the executor calls it afterwards.
create or replace function holdfast.hand_over(
  p_job uuid, p_attempt int, p_claim_id uuid, p_executor text, p_inputs jsonb, p_heartbeat_limit float8, p_run_limit float8, p_retry_in float8,
  p_logs jsonb)
returns uuid
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
  v_id uuid;
begin
  -- The answer to the first call was lost: it was handed over, whatever became of it since. It may be committing just now.
  perform from holdfast.job j where j.id = p_job for no key update;
  select d.id into v_id from holdfast.dispatch d where d.job_id = p_job and d.attempt = p_attempt and d.claim_id = p_claim_id;
  if found then
    return v_id;
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, created_at, next_try_at, heartbeat_limit, run_limit, retry_in, logs)
  values (p_job, p_attempt, p_claim_id, p_executor, p_inputs, holdfast.clock(), holdfast.clock(), make_interval(secs => p_heartbeat_limit),
          make_interval(secs => p_run_limit), make_interval(secs => p_retry_in), p_logs)
  returning id into v_id;
  update holdfast.job j
     set holder = v_id, deadline_at = null, suspect = false   -- its worker survived it
   where j.id = p_job;
  perform holdfast.note(p_job, 'dispatch.planned', holdfast.holder_name(v_job.holder), jsonb_build_object('executor', p_executor, 'attempt', p_attempt));
  perform pg_notify('holdfast_dispatch', p_executor);
  return v_id;
end $$;

-- Takes what is to be called now, for the length of a lease; committed before the call, so that a call that nobody heard of is looked for.
create or replace function holdfast.take_dispatches(p_worker uuid, p_executors text[], p_limit int, p_lease float8)
returns table (id uuid, wanted text, try int, job_id uuid, attempt int, claim_id uuid, executor text, inputs text, planned_at timestamptz, run_ref text, run_id text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_seqscan = off set jit = off set enable_bitmapscan = off as $$
declare
  v_now timestamptz := holdfast.clock();
begin
  return query
  with due as materialized (
    select d.id, d.doubtful, d.state = 'over' as is_over
      from holdfast.dispatch d
     where d.next_try_at <= v_now and d.next_try_at is not null and d.executor = any (p_executors)
     order by d.next_try_at
     limit p_limit
       for no key update skip locked)
  update holdfast.dispatch d
     set state = case when due.is_over then 'over' else 'calling' end,
         tries = d.tries + (not due.is_over)::int,
         cancel_tries = d.cancel_tries + due.is_over::int,
         doubtful = true,
         taken_by = p_worker,
         next_try_at = v_now + make_interval(secs => p_lease)
    from due
   where d.id = any (array[due.id])
  returning d.id, case when due.is_over then 'cancel' when due.doubtful then 'find' else 'start' end,
            case when due.is_over then d.cancel_tries else d.tries end,
            d.job_id, d.attempt, d.claim_id, d.executor::text, d.inputs::text, d.created_at, d.run_ref, d.run_id;
end $$;

-- The executor has it. True however late it is said: also of a job that has ended meanwhile, whose run is to be cancelled.
create or replace function holdfast.dispatch_sent(p_id uuid, p_run_ref text, p_run_url text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_run holdfast.dispatch;
begin
  -- Whatever is noted about a job is noted under its lock: who follows it reads notes by their numbers.
  perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  update holdfast.dispatch d
     set state = case when d.state = 'over' then 'over' else 'sent' end,
         sent_at = coalesce(d.sent_at, holdfast.clock()),
         run_ref = coalesce(p_run_ref, d.run_ref),
         run_url = coalesce(d.run_url, p_run_url),
         doubtful = false,
         error = null,
         next_try_at = case when d.state = 'over' then d.next_try_at end
   where d.id = p_id
  returning * into v_run;
  if found then
    perform holdfast.note(v_run.job_id, 'dispatch.sent', 'executor:' || v_run.executor,
                          jsonb_strip_nulls(jsonb_build_object('attempt', v_run.attempt, 'try', v_run.tries, 'run', p_run_ref)));
  end if;
end $$;

-- A call failed. p_permanent: it would fail again; p_doubtful: it may have been obeyed all the same. Calls have retries of their own,
-- and use none of the job's. Answers what becomes of it: planned, failed, or superseded when somebody else has taken over.
create or replace function holdfast.dispatch_failed(
  p_id uuid, p_try int, p_error jsonb, p_permanent boolean, p_doubtful boolean, p_delay float8, p_most_tries int)
returns text
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
begin
  select * into v_job from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  select * into v_run from holdfast.dispatch d where d.id = p_id for no key update;
  if (v_job.holder = p_id and v_run.state = 'calling' and v_run.tries = p_try) is not true then
    return 'superseded';
  end if;
  if p_permanent or v_run.tries >= p_most_tries then
    perform holdfast.fail_run(v_job, v_run, p_error || jsonb_build_object('recoverable', not p_permanent, 'tries', v_run.tries),
                              p_error ->> 'message', 'executor:' || v_run.executor, p_doubtful);
    return 'failed';
  end if;
  update holdfast.dispatch d
     set state = 'planned', doubtful = p_doubtful, error = p_error, next_try_at = holdfast.clock() + make_interval(secs => p_delay)
   where d.id = p_id;
  perform holdfast.note(v_run.job_id, 'dispatch.failed', 'executor:' || v_run.executor,
                        jsonb_build_object('attempt', v_run.attempt, 'try', v_run.tries, 'again_in', p_delay));
  return 'planned';
end $$;

-- What came of asking the executor to cancel. p_has_ended: the run is known to have stopped; p_again_in: null when nobody asks again.
create or replace function holdfast.dispatch_cancelled(p_id uuid, p_has_ended boolean, p_error jsonb, p_again_in float8) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_run holdfast.dispatch;
begin
  perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  update holdfast.dispatch d
     set cancelled_at = case when p_error is null then holdfast.clock() end,
         error = p_error,
         next_try_at = holdfast.clock() + make_interval(secs => p_again_in)
   where d.id = p_id and d.state = 'over'
  returning * into v_run;
  if not found then
    return;
  end if;
  perform holdfast.note(v_run.job_id, 'dispatch.cancelled', 'executor:' || v_run.executor,
                        jsonb_build_object('attempt', v_run.attempt, 'try', v_run.cancel_tries, 'told', p_error is null));
  if p_has_ended then
    perform holdfast.release_after_run(v_run);
  end if;
end $$;

-- Ends the attempt that a run has failed: RETRY while it is recoverable and retries are left, else FAILED.
-- The caller holds both locks. p_stop: the run may live, and is to be cancelled.
create or replace function holdfast.fail_run(
  p_job holdfast.job, p_run holdfast.dispatch, p_error jsonb, p_reason text, p_actor text, p_stop boolean)
returns holdfast.job_status
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_before text := current_setting('holdfast.actor', true);
  v_again boolean := coalesce((p_error ->> 'recoverable')::boolean, true) and p_job.retry_count < p_job.max_retries;
  v_error jsonb := jsonb_strip_nulls(p_error || jsonb_build_object('executor', p_run.executor, 'run_id', p_run.run_id, 'run_url', p_run.run_url));
begin
  -- Before the job: what follows a job's end (stop_runs) leaves a dispatch alone that is over.
  perform holdfast.end_dispatch(p_run.id, p_stop);
  perform set_config('holdfast.actor', p_actor, true);
  update holdfast.job j
     set status = case when v_again then 'RETRY' else 'FAILED' end::holdfast.job_status,
         holder = null,
         deadline_at = null,
         suspect = false,
         retry_count = j.retry_count + v_again::int,
         due_at = case when v_again then v_now + p_run.retry_in end,
         claim_order = case when v_again and p_run.retry_in <= interval '0' and j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
         error = v_error,
         reason = left(p_reason, 500)
   where j.id = p_job.id;
  perform holdfast.keep_attempt(p_run, 'failed', v_error);
  if v_again and p_run.retry_in <= interval '0' then
    perform holdfast.wake(array[p_job.queue::text]);
  end if;
  perform set_config('holdfast.actor', coalesce(v_before, ''), true);
  return case when v_again then 'RETRY' else 'FAILED' end;
end $$;

create or replace function holdfast.end_dispatch(p_id uuid, p_stop boolean) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  update holdfast.dispatch d
     set state = 'over', over_at = holdfast.clock(),
         cancel_wanted_at = case when p_stop then holdfast.clock() end,
         next_try_at = case when p_stop then holdfast.clock() end
   where d.id = p_id;
  if p_stop then
    perform pg_notify('holdfast_dispatch', 'cancel');
  end if;
end $$;

create or replace function holdfast.keep_attempt(p_run holdfast.dispatch, p_outcome text, p_error jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  insert into holdfast.attempt (job_id, attempt, worker, outcome, error, logs)
  select p_run.job_id, p_run.attempt, 'executor:' || p_run.executor, p_outcome, p_error, p_run.logs
   where p_error is not null or p_run.logs is not null
  on conflict do nothing;
  if p_run.logs is not null then
    perform holdfast.forget_log_parts(array[p_run.job_id], array[p_run.attempt]);
  end if;
end $$;

-- Follow-up of jobs that were cancelled, or failed by other hands: their runs are cancelled too; nobody waits for it.
create or replace function holdfast.stop_runs(p_ids uuid[]) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.end_dispatch(d.id, d.state <> 'planned' or d.doubtful)
     from holdfast.dispatch d
    where d.job_id = any (p_ids) and d.state <> 'over'
      and (select j.status in ('FAILED', 'CANCELLED') from holdfast.job j where j.id = d.job_id);
end $$;

-- The run that was given up has reported its end: what undoes it may begin.
create or replace function holdfast.release_after_run(p_run holdfast.dispatch) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  update holdfast.dispatch d set ended_at = coalesce(d.ended_at, holdfast.clock()) where d.id = p_run.id;
  perform holdfast.let_go(array_agg(j.id::uuid))
     from holdfast.job j
    where j.compensates = p_run.job_id and j.held_by = 'run:' || p_run.id;
end $$;
