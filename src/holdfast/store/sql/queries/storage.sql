-- What holds back vacuum as far as this login may see, and what it left behind.
select (select holdfast.clock() - min(x.since)
          from (select a.xact_start as since from pg_stat_activity a where a.xact_start is not null and a.pid <> pg_backend_pid()
                union all
                select p.prepared from pg_prepared_xacts p) as x),
       coalesce((select t.n_dead_tup from pg_stat_all_tables t where t.relid = to_regclass('holdfast.job')), 0),
       coalesce((select t.n_live_tup from pg_stat_all_tables t where t.relid = to_regclass('holdfast.job')), 0),
       (select count(*)
          from generate_series(0, 1) as m (ahead)
         where to_regclass('holdfast.job_history_' || to_char((date_trunc('month', holdfast.clock() at time zone 'UTC')
                                                               + make_interval(months => m.ahead)), 'YYYYMM')) is null),
       pg_relation_size('holdfast.job_history_rest') > 0
