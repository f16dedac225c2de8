-- Callbacks: what runs say about themselves. Whoever calls has checked the signature; what is decided here is whether it still counts.

-- Answers ok, or why nothing was changed: not_found, nonce_reused, stale_attempt, other_run, already_over.
-- p_nonce is null for the plain signature, which has none. p_data: run_id, run_url, done, total, note, result, type, message, step, recoverable.
create or replace function holdfast.callback(
  p_job uuid, p_attempt int, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb)
returns text
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set lock_timeout = '2s' as $$   -- whoever reports tries again; a queue of them would take all connections
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
  v_kept holdfast.callback_nonce;
  v_answer text;
begin
  if p_action is null or p_action not in ('started', 'heartbeat', 'progress', 'completed', 'failed') then
    raise exception 'callback % is not one of started, heartbeat, progress, completed, failed', quote_nullable(p_action) using errcode = 'HF005';
  end if;
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  -- By the executor too: one that may sign for itself learns nothing of the jobs of others.
  select * into v_run
    from holdfast.dispatch d
   where d.job_id = p_job and d.attempt = p_attempt and d.claim_id = p_claim_id and d.executor = p_executor
     for no key update;
  if not found or not holdfast.may_touch(v_job.tenant) then
    return 'not_found';
  end if;
  select * into v_kept from holdfast.callback_nonce n where n.job_id = p_job and n.nonce = p_nonce;
  if found then
    return case when v_kept.body_hash = p_body_hash then v_kept.answer else 'nonce_reused' end;
  end if;
  v_answer := holdfast.judge_callback(v_job, v_run, p_data ->> 'run_id');
  if v_answer = 'ok' then
    perform holdfast.obey_callback(v_job, v_run, p_action, p_data);
  elsif v_answer <> 'other_run' and p_action in ('completed', 'failed') then
    perform holdfast.release_after_run(v_run);
  end if;
  if p_nonce is not null then
    insert into holdfast.callback_nonce (job_id, nonce, body_hash, answer, at)
    values (p_job, p_nonce, p_body_hash, v_answer, holdfast.clock());
  end if;
  return v_answer;
end $$;

create or replace function holdfast.judge_callback(p_job holdfast.job, p_run holdfast.dispatch, p_run_id text) returns text
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select case
    when p_run.run_id is not null and p_run_id is not null and p_run.run_id <> p_run_id then 'other_run'
    when p_job.attempt <> p_run.attempt or p_job.claim_id is distinct from p_run.claim_id then 'stale_attempt'
    when p_job.status <> 'RUNNING' or p_job.holder is distinct from p_run.id then 'already_over'
    else 'ok'
  end
$$;

create or replace function holdfast.obey_callback(p_job holdfast.job, p_run holdfast.dispatch, p_action text, p_data jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
  v_run holdfast.dispatch;
begin
  -- A sign of life proves that the executor has it, whatever became of the call: nobody needs to call again.
  update holdfast.dispatch d
     set state = 'sent', doubtful = false, next_try_at = null,
         sent_at = coalesce(d.sent_at, v_now), started_at = coalesce(d.started_at, v_now), seen_at = v_now,
         run_id = coalesce(d.run_id, p_data ->> 'run_id'), run_url = coalesce(p_data ->> 'run_url', d.run_url)
   where d.id = p_run.id
  returning * into v_run;
  perform holdfast.note(p_job.id, 'callback.' || p_action, 'executor:' || v_run.executor, jsonb_strip_nulls(jsonb_build_object(
    'attempt', v_run.attempt, 'run_id', v_run.run_id, 'done', p_data -> 'done', 'total', p_data -> 'total', 'note', p_data -> 'note',
    'step', p_data -> 'step')));
  case p_action
    when 'progress' then
      insert into holdfast.progress as p (job_id, attempt, at, done, total, note)
      values (p_job.id, v_run.attempt, v_now, (p_data ->> 'done')::float8, (p_data ->> 'total')::float8, p_data ->> 'note')
      on conflict (job_id) do update
         set attempt = excluded.attempt, at = excluded.at, done = excluded.done, total = excluded.total, note = excluded.note;
    when 'completed' then
      perform holdfast.complete_run(p_job, v_run, nullif(p_data -> 'result', 'null'));
    when 'failed' then
      perform holdfast.fail_run(p_job, v_run,
        jsonb_build_object('type', coalesce(p_data ->> 'type', 'RunFailed'), 'kind', 'executor',
                           'recoverable', coalesce((p_data ->> 'recoverable')::boolean, true),
                           'message', coalesce(p_data ->> 'message', 'the run failed and did not say why'), 'step', p_data ->> 'step'),
        concat_ws(', ', coalesce(p_data ->> 'message', 'the run failed'), 'step ' || (p_data ->> 'step'), 'run ' || v_run.run_id),
        'executor:' || v_run.executor, false);
    else
      null;   -- started, heartbeat: being heard is all there is to it
  end case;
end $$;

create or replace function holdfast.complete_run(p_job holdfast.job, p_run holdfast.dispatch, p_result jsonb) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_before text := current_setting('holdfast.actor', true);
begin
  perform holdfast.end_dispatch(p_run.id, false);
  perform set_config('holdfast.actor', 'executor:' || p_run.executor, true);
  update holdfast.job j
     set status = 'COMPLETED', result = p_result, holder = null, deadline_at = null, suspect = false, reason = 'run ' || p_run.run_id
   where j.id = p_job.id;
  perform holdfast.keep_attempt(p_run, 'completed', null);
  perform set_config('holdfast.actor', coalesce(v_before, ''), true);
end $$;

-- Why a run is given up: the limit that it passed first, or null. Silence counts from the last callback, or from the dispatch.
create or replace function holdfast.run_fault(p_run holdfast.dispatch) returns jsonb
language sql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
  select case
      when l.silent_at < l.now and l.silent_at <= l.late_at then
        jsonb_build_object('type', 'HeartbeatTimeout', 'kind', 'heartbeat', 'recoverable', true,
          'message', format('Timeout: no heartbeat for %s s', trim_scale(extract(epoch from p_run.heartbeat_limit))))
      when l.late_at < l.now then
        jsonb_build_object('type', 'RunTimeout', 'kind', 'timeout', 'recoverable', true,
          'message', format('Timeout: the run took longer than %s s', trim_scale(extract(epoch from p_run.run_limit))))
    end
    from (select holdfast.clock() as now, greatest(p_run.seen_at, p_run.sent_at) + p_run.heartbeat_limit as silent_at,
                 coalesce(p_run.started_at, p_run.sent_at) + p_run.run_limit as late_at) as l
   where p_run.state = 'sent'
$$;

-- Ends the run of a job that has passed a limit; answers whether it did. Never waits: whoever has the job locked is at it already.
create or replace function holdfast.check_run(p_job uuid) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
  v_fault jsonb;
begin
  if current_setting('transaction_read_only') = 'on' then
    return false;   -- the next sweep finds it
  end if;
  select * into v_job from holdfast.job j where j.id = p_job and j.status = 'RUNNING' and holdfast.may_touch(j.tenant) for no key update skip locked;
  if not found then
    return false;
  end if;
  select * into v_run from holdfast.dispatch d where d.id = v_job.holder for no key update;
  v_fault := holdfast.run_fault(v_run);
  if v_fault is null then
    return false;
  end if;
  perform holdfast.fail_run(v_job, v_run, v_fault, v_fault ->> 'message', 'sweeper', true);
  return true;
end $$;

-- All runs that have passed a limit. Few runs are out at a time: they are looked at one by one.
create or replace function holdfast.check_runs(p_limit int) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job uuid;
  v_ended bigint := 0;
begin
  for v_job in
    select d.job_id
      from holdfast.dispatch d
     where d.state = 'sent' and holdfast.run_fault(d) is not null
     order by d.job_id
     limit p_limit
  loop
    v_ended := v_ended + holdfast.check_run(v_job)::int;
  end loop;
  return v_ended;
end $$;

create or replace function holdfast.forget_nonces(p_limit int) returns bigint
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  with gone as (
    delete from holdfast.callback_nonce n
     where (n.job_id, n.nonce) in (select o.job_id, o.nonce
                                     from holdfast.callback_nonce o
                                    where o.at < holdfast.clock() - interval '1 day'
                                    order by o.at
                                    limit p_limit)
    returning 1)
  select count(*) from gone
$$;
