-- What holds back vacuum as far as this login may see, and what it left behind. Only this database's transactions keep its dead rows alive,
-- and a vacuum's own does not.
with transactions as (
  select a.xact_start as since,
         format('%%s %%s (%%s)', case when a.backend_type = 'client backend' then 'session' else a.backend_type end, a.pid,
                coalesce(nullif(a.application_name, ''), a.usename::text, 'without a name')) as whose
    from pg_stat_activity a
   where a.datname = current_database() and a.xact_start is not null and a.pid <> pg_backend_pid() and a.backend_type not like 'autovacuum%%'
     and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
  union all
  select p.prepared, format('the prepared transaction %%s', p.gid)
    from pg_prepared_xacts p
   where p.database = current_database()),
oldest as (
  select o.since, o.whose
    from transactions o
   order by o.since
   limit 1)
select (select holdfast.clock() - o.since from oldest o),
       (select o.whose from oldest o),
       coalesce((select t.n_dead_tup from pg_stat_all_tables t where t.relid = to_regclass('holdfast.job')), 0),
       coalesce((select t.n_live_tup from pg_stat_all_tables t where t.relid = to_regclass('holdfast.job')), 0),
       (select count(*)
          from generate_series(0, 1) as m (ahead)
         where to_regclass('holdfast.job_history_' || to_char((date_trunc('month', holdfast.clock() at time zone 'UTC')
                                                               + make_interval(months => m.ahead)), 'YYYYMM')) is null),
       pg_relation_size('holdfast.job_history_rest') > 0
