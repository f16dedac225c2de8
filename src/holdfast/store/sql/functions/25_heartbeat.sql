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
