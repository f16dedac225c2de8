-- What guards the tables, as the server writes it down: a line a guard, with a digest of what it says. The months of the history are
-- alike and come and go: audit_guards.sql looks at those.
with ours as (
  select c.oid, c.relname, c.relkind, c.relrowsecurity
    from pg_class c
   where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and c.relname !~ '^job_history_[0-9]{6}$')
select 'function' as kind, p.oid::regprocedure::text as name, md5(pg_get_functiondef(p.oid)) as digest
  from pg_proc p
 where p.pronamespace = 'holdfast'::regnamespace and p.prokind = 'f'
union all
select 'trigger', o.relname || '.' || t.tgname, md5(t.tgenabled::text || pg_get_triggerdef(t.oid))
  from pg_trigger t
  join ours o on o.oid = t.tgrelid
 where not t.tgisinternal
union all
select case when i.indisunique then 'unique index' else 'index' end, c.relname::text, md5(i.indisvalid::text || i.indisready || pg_get_indexdef(i.indexrelid))
  from pg_index i
  join pg_class c on c.oid = i.indexrelid
  join ours o on o.oid = i.indrelid
union all
select 'constraint', coalesce(o.relname, y.typname) || '.' || k.conname, md5(k.convalidated::text || pg_get_constraintdef(k.oid))
  from pg_constraint k
  left join ours o on o.oid = k.conrelid
  left join pg_type y on y.oid = k.contypid
 where k.connamespace = 'holdfast'::regnamespace and k.contype in ('c', 'p', 'u', 'f', 'x') and coalesce(o.oid, nullif(k.contypid, 0)) is not null
union all
select 'row security', o.relname, md5(o.relrowsecurity::text || coalesce((
         select pg_get_expr(p.polqual, p.polrelid) from pg_policy p where p.polrelid = o.oid and p.polname = 'own_rows'), ''))
  from ours o
 where (select n.nspowner::regrole::text from pg_namespace n where n.nspname = 'holdfast') = 'holdfast_owner'
