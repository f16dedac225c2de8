-- Heartbeat: one row a worker says that it lives, whatever it runs.

-- Answers whether the worker still counts as alive, and which of the attempts it names it has lost.
create or replace function holdfast.beat(p_worker uuid, p_ids uuid[], p_claim_ids uuid[], out alive boolean, out lost uuid[])
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
begin
  update holdfast.worker w
     set seen_at = holdfast.clock()
   where w.id = p_worker and w.died_at is null;
  alive := found;
  select coalesce(array_agg(mine.id), '{}') into lost
    from unnest(p_ids, p_claim_ids) as mine (id, claim_id)
   where (select j.claim_id = mine.claim_id and j.status = 'RUNNING' from holdfast.job j where j.id = mine.id) is not true;
end $$;

-- Wishes something of a living worker: to be quiet, to stop, or (null) to claim again. Its next heartbeat tells it.
create or replace function holdfast.wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_worker holdfast.worker;
begin
  perform holdfast.require_unbound('a worker');
  select * into v_worker from holdfast.worker w where w.id = p_worker and w.died_at is null for no key update;
  if not found then
    raise exception 'no living worker has the id %', p_worker using errcode = 'HF014';
  end if;
  if v_worker.queues = '{}' then
    raise exception 'worker % is a program that claims for itself', v_worker.name
      using errcode = 'HF001', hint = 'Stop it where it runs.';
  end if;
  if v_worker.wish = 'stop' and p_wish is distinct from 'stop' then
    raise exception 'worker % was asked to stop, which cannot be taken back', v_worker.name
      using errcode = 'HF001', hint = 'Start another.';
  end if;
  update holdfast.worker w
     set wish = p_wish, wished_for = p_reason,
         wished_by = case when p_wish is not null then coalesce(p_actor, session_user) end,
         wished_at = case when p_wish is not null then holdfast.clock() end
   where w.id = p_worker;
end $$;

create or replace function holdfast.fall_asleep(p_worker uuid, p_queues text[]) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.sleeper (queue, worker_id)
  select q, w.id
    from unnest(p_queues) as q
    join holdfast.worker w on w.id = p_worker and w.died_at is null
   order by q
  on conflict do nothing
$$;

create or replace function holdfast.stay_awake(p_worker uuid, p_queues text[]) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  delete from holdfast.sleeper s where s.worker_id = p_worker and s.queue = any (p_queues)
$$;

-- A goodbye: what it still holds goes back at once and counts as nothing.
create or replace function holdfast.retire_worker(p_worker uuid) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off as $$
begin
  update holdfast.worker w
     set stopped_at = holdfast.clock(), died_at = holdfast.clock()
   where w.id = p_worker and w.died_at is null;
  if found then
    delete from holdfast.sleeper s where s.worker_id = p_worker;   -- after the worker, as the sweeper locks them
    perform set_config('holdfast.actor', (select w.name from holdfast.worker w where w.id = p_worker), true);
    perform holdfast.return_jobs(p_worker, 10000);
  end if;
end $$;
