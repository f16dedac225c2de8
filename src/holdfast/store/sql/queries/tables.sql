-- Our tables by size, partitions counted to what they are parts of; rows are the statistics' own estimates.
select regexp_replace(t.relname, '_([0-9]{6}|rest)$', ''), sum(t.n_live_tup)::bigint, sum(t.n_dead_tup)::bigint,
       sum(pg_total_relation_size(t.relid))::bigint, max(greatest(t.last_vacuum, t.last_autovacuum))
  from pg_stat_all_tables t
 where t.schemaname = 'holdfast'
 group by 1
 order by 4 desc, 1
