-- Storage: what the jobs of tenants take. Of a large table some blocks are looked at, however many there are, and the rest is concluded.

-- Measures at most as often as every five minutes, p_blocks blocks of jobs with all that belongs to these; answers how many tenants
-- there are. Sizes are as stored, compressed; without indexes, and without what is dead or free.
create or replace function holdfast.measure_storage(p_blocks int default 2000) returns bigint
language plpgsql set search_path = pg_catalog, holdfast, pg_temp set jit = off set enable_seqscan = off as $$
declare
  v_now timestamptz := holdfast.clock();
  v_blocks bigint := pg_relation_size('holdfast.job') / current_setting('block_size')::int;
  v_share float8 := least(1.0, p_blocks::float8 / greatest(v_blocks, 1));
  v_count bigint;
begin
  if exists (select from holdfast.storage s where s.measured_at > v_now - interval '5 minutes' and s.measured_at <= v_now) then
    return null;
  end if;
  delete from holdfast.storage;
  insert into holdfast.storage (tenant, jobs, job_bytes, payload_bytes, result_bytes, history_bytes, share, measured_at)
  select j.tenant, round(count(*) / v_share),
         -- A row's header and what nearly all rows have; texts as long as they are.
         round(sum(200 + pg_column_size(row(j.task, j.queue, j.tenant, j.subject, j.key, j.reason, j.label, j.requested_by, j.trace_parent))) / v_share),
         round(sum(coalesce(pg_column_size(j.payload), 0) + coalesce(pg_column_size(j.metadata), 0) + coalesce(pg_column_size(j.tags), 0)) / v_share),
         round(sum(coalesce(pg_column_size(j.result), 0) + coalesce(pg_column_size(j.error), 0)) / v_share),
         round(sum(h.bytes + a.bytes + l.bytes + s.bytes + c.bytes) / v_share),
         v_share, v_now
    from holdfast.job j tablesample system (100 * v_share)
    cross join lateral (select coalesce(sum(110 + coalesce(pg_column_size(h.reason), 0) + coalesce(pg_column_size(h.metadata), 0)), 0) as bytes
                          from holdfast.job_history h where h.job_id = j.id) as h
    cross join lateral (select coalesce(sum(90 + coalesce(pg_column_size(a.error), 0) + coalesce(pg_column_size(a.logs), 0)), 0) as bytes
                          from holdfast.attempt a where a.job_id = j.id) as a
    cross join lateral (select coalesce(sum(80 + pg_column_size(l.lines)), 0) as bytes from holdfast.log_part l where l.job_id = j.id) as l
    cross join lateral (select coalesce(sum(100 + pg_column_size(s.name) + coalesce(pg_column_size(s.value), 0)), 0) as bytes
                          from holdfast.step s where s.job_id = j.id) as s
    cross join lateral (select coalesce(sum(80 + pg_column_size(c.kind) + coalesce(pg_column_size(c.data), 0)), 0) as bytes
                          from holdfast.activity c where c.job_id = j.id) as c
   group by j.tenant;
  get diagnostics v_count = row_count;
  return v_count;
end $$;
