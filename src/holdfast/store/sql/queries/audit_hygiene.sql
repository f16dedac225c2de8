-- I, hygiene of the server, as far as this login may see it; the last two hold at rest.
select 'I02' as code, null::uuid as job_id, format('transaction %%s of %%s was prepared at %%s and is neither committed nor rolled back', p.gid, p.owner, p.prepared) as what
  from pg_prepared_xacts p
 where p.database = current_database()
union all
select 'I04', null, format('%%s checksums did not fit since %%s, the last time at %%s', d.checksum_failures, d.stats_reset, d.checksum_last_failure)
  from pg_stat_database d
 where d.datname = current_database() and d.checksum_failures > 0
union all
select 'I01', null, format('session %%s (%%s) has been idle in a transaction since %%s', a.pid, coalesce(nullif(a.application_name, ''), a.usename::text), a.state_change)
  from pg_stat_activity a
 where %(at_rest)s and a.datname = current_database() and a.pid <> pg_backend_pid() and a.state like 'idle in transaction%%'
   and a.state_change < clock_timestamp() - make_interval(secs => %(idle)s)
union all
select 'I03', null, format('session %%s waits for a lock (%%s on %%s)', l.pid, l.mode, coalesce(l.relation::regclass::text, l.locktype))
  from pg_locks l
 where %(at_rest)s and not l.granted and (l.database is null or l.database = (select d.oid from pg_database d where d.datname = current_database()))
