-- Change: what a person changes of a job without moving it: its place in the line, which line it stands in, or that it is kept at all.
-- The job's row is locked first, as everywhere; of what it then waits for, nobody waits for a job.

-- Why this cannot be done to a job now, or null. The caller has locked the job.
create or replace function holdfast.why_unchanged(p_action text, p_job holdfast.job) returns text
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  return case
    when p_action = 'delete' and not holdfast.is_terminal(p_job.status) then format('it is %s: only what has ended can be deleted', p_job.status)
    when p_action <> 'delete' and holdfast.is_terminal(p_job.status) then format('it is %s', p_job.status)
    when p_action = 'move' and p_job.status = 'RUNNING' then 'it is RUNNING: stop it, or wait for the end of its attempt'
    when p_action = 'move' and holdfast.is_own_task(p_job.task) then 'it is Holdfast''s own, and stays in its queue'
    when p_action = 'delete' and holdfast.is_needed(p_job.id, p_job.parent_id) then 'a job that has not ended, can be retried or is still to be undone needs it, it is the retry of a job that is still there, or what undoes it has not ended'
    when p_action = 'delete' and holdfast.awaits_projection(p_job.id) then 'its end has not been counted yet: try again in a moment'
  end;
end $$;

create or replace function holdfast.require_changeable(p_action text, p_job holdfast.job) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_problem text := holdfast.why_unchanged(p_action, p_job);
begin
  if v_problem is not null then
    raise exception 'job % cannot be %: %', p_job.id,
        case p_action when 'move' then 'moved' when 'delete' then 'deleted' else 'given another priority' end, v_problem
      using errcode = 'HF001';
  end if;
end $$;

create or replace function holdfast.check_priority(p_priority int) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_priority is null or p_priority not between -100 and 100 then
    raise exception 'a priority is -100 to 100, not %', coalesce(p_priority::text, 'null') using errcode = 'HF005';
  end if;
end $$;

-- A queue that nobody has declared and nobody serves is a slip of the pen: jobs would wait there for ever. Holdfast's own is for its own.
create or replace function holdfast.check_queue(p_queue text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_queue is null or p_queue = 'holdfast'
     or not (exists (select from holdfast.queue q where q.name = p_queue)
             or exists (select from holdfast.worker w where w.died_at is null and w.queues ? p_queue)) then
    raise exception 'jobs cannot be moved to %: %', quote_nullable(left(p_queue, 200)),
        case when p_queue = 'holdfast' then 'it is Holdfast''s own queue' else 'no task declares this queue, and no worker serves it' end
      using errcode = 'HF005', hint = 'holdfast queue list shows the queues.';
  end if;
end $$;

-- Gives a job another place in its line, as if it had had this priority when it came; one that runs keeps it for its next attempt.
-- Asked for what is already so, it does and tells nothing.
create or replace function holdfast.put_at(p_job holdfast.job, p_priority int, p_actor text, p_reason text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_job.priority = p_priority then
    return;
  end if;
  update holdfast.job j
     set priority = p_priority, claim_order = holdfast.place_in_line(holdfast.ready_since(j.claim_order, j.priority), p_priority)
   where j.id = p_job.id;
  perform holdfast.note(p_job.id, 'job.reprioritised', p_actor,
            jsonb_strip_nulls(jsonb_build_object('from', p_job.priority, 'to', p_priority, 'reason', p_reason)));
  if p_job.claim_order is not null then
    perform holdfast.wake(array[p_job.queue::text]);   -- a claim may have passed it over while it was locked
  end if;
end $$;

-- Puts a job into another queue's line, at the place it has. What it holds of the old queue's limit goes to others; where the new one
-- has a limit it comes in through admission. All other holds are its own and stay.
create or replace function holdfast.put_into_queue(p_job holdfast.job, p_queue text, p_actor text, p_reason text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_old_key text := 'queue:' || p_job.queue;
  v_is_limited boolean := exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null);
  v_freed text[];
begin
  if p_job.queue = p_queue then
    return;
  end if;
  update holdfast.job j
     set queue = p_queue,
         ties = j.ties | 16 | v_is_limited::int,
         due_at = case when j.held_by = 'limit:' || v_old_key then coalesce(j.due_at, holdfast.clock()) else j.due_at end,
         held_by = nullif(j.held_by, 'limit:' || v_old_key)
   where j.id = p_job.id
  returning j.* into p_job;
  if v_is_limited and p_job.claim_order is not null then
    perform holdfast.leave_line(p_job, null);
  end if;
  with given as (
    delete from holdfast.slot s where s.job_id = p_job.id and s.key = v_old_key returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from given g;
  perform holdfast.note(p_job.id, 'job.moved', p_actor, jsonb_strip_nulls(jsonb_build_object(
            'from', substr(v_old_key, 7), 'to', p_queue, 'status', p_job.status, 'seq', p_job.seq, 'reason', p_reason)));
  if v_freed is not null then
    perform holdfast.offer_slots(v_freed);
  end if;
  perform holdfast.wake(array[p_queue]);
end $$;

-- Takes a job away that has ended, with all that belongs to it, as retention does. The audit keeps that it was there, and who took it
-- away: never what it worked with.
create or replace function holdfast.take_away(p_job holdfast.job, p_actor text, p_address text, p_reason text, p_operation uuid) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  insert into holdfast.audit (actor, address, action, target, tenant, reason, data)
  values (coalesce(p_actor, holdfast.actor()), p_address, 'job.delete', p_job.id::text, p_job.tenant, p_reason, jsonb_strip_nulls(jsonb_build_object(
            'task', p_job.task, 'queue', p_job.queue, 'status', p_job.status, 'attempt', p_job.attempt, 'created_at', p_job.created_at,
            'finished_at', p_job.finished_at, 'operation', p_operation)));
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  perform holdfast.remove_jobs(array[p_job.id::uuid]);
  perform set_config('holdfast.retention', '', true);
end $$;

create or replace function holdfast.reprioritise(p_id uuid, p_priority int, p_actor text default null, p_reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.check_priority(p_priority);
  perform holdfast.require_changeable('reprioritise', v_job);
  perform holdfast.put_at(v_job, p_priority, p_actor, p_reason);
end $$;

create or replace function holdfast.move_to_queue(p_id uuid, p_queue text, p_actor text default null, p_reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.check_queue(p_queue);
  perform holdfast.require_changeable('move', v_job);
  perform holdfast.put_into_queue(v_job, p_queue, p_actor, p_reason);
end $$;

create or replace function holdfast.delete_job(p_id uuid, p_actor text default null, p_reason text default null, p_address text default null) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.require_changeable('delete', v_job);
  perform holdfast.take_away(v_job, p_actor, p_address, p_reason, null);
end $$;
