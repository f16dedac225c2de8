-- Logs: lines of attempts that still run, saved now and then; their end brings all of them at once.

-- Saves what attempts have logged beyond what is saved already, and answers how many lines there are of each now. A repeat saves
-- nothing twice: what its caller did not hear of is found here. Nothing of an attempt that no longer has its job.
-- No lock: whoever ends an attempt meanwhile writes all of its lines, and readers look at those first.
create or replace function holdfast.save_logs(
  p_worker uuid, p_ids uuid[], p_attempts int[], p_claim_ids uuid[], p_firsts int[], p_lines text[])
returns table (id uuid, claim_id uuid, kept int)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp
  set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set jit = off set lock_timeout = '2s' as $$
declare
  v_name text := holdfast.holder_name(p_worker);
begin
  insert into holdfast.log_part (job_id, attempt, first, worker, lines)
  select o.id, o.attempt, k.kept, v_name, n.lines
    from (select * from unnest(p_ids, p_attempts, p_claim_ids, p_firsts, p_lines) as u (id, attempt, claim_id, first, lines) order by u.id) as o
    join holdfast.job j on j.id = any (array[o.id])
    cross join lateral (select holdfast.lines_kept(o.id, o.attempt) as kept) as k
    cross join lateral (
      select jsonb_agg(e.line order by e.place) as lines
        from jsonb_array_elements(o.lines::jsonb) with ordinality as e (line, place)
       where o.first + e.place > k.kept) as n
   where j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker
     and o.first <= k.kept and n.lines is not null
  on conflict do nothing;
  -- A statement of its own: a call whose answer was lost may have committed while this one waited for it.
  return query
    select o.id, o.claim_id, holdfast.lines_kept(o.id, o.attempt)
      from unnest(p_ids, p_attempts, p_claim_ids) as o (id, attempt, claim_id);
end $$;

create or replace function holdfast.lines_kept(p_job uuid, p_attempt int) returns int
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select coalesce((select p.first + jsonb_array_length(p.lines)
                     from holdfast.log_part p
                    where p.job_id = p_job and p.attempt = p_attempt
                    order by p.first desc
                    limit 1), 0)
$$;

-- Lets go of what was saved while attempts ran, once their end has brought all of it.
create or replace function holdfast.forget_log_parts(p_ids uuid[], p_attempts int[]) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  delete from holdfast.log_part p
   using unnest(p_ids, p_attempts) as o (id, attempt)
   where p.job_id = o.id and p.attempt = o.attempt
     and exists (select from holdfast.attempt a where a.job_id = o.id and a.attempt = o.attempt and a.logs is not null)
$$;
