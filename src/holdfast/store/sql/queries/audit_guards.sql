-- H, guards in place, by rule: triggers that no setting walks past on every month of the history, functions with the owner's rights
-- that cannot be led astray, and nobody who may more than a role is meant to.
with months as (
  select c.oid, c.relname, c.relrowsecurity
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'holdfast.job_history'::regclass),
owner as (
  select n.nspowner as oid, n.nspowner::regrole::text = 'holdfast_owner' as is_apart from pg_namespace n where n.nspname = 'holdfast'),
app as (   -- logins of applications, and the roles that they have
  select r.oid, r.rolname, r.rolsuper, r.rolbypassrls, r.rolcanlogin
    from pg_roles r
    cross join owner o
   where o.is_apart
     and (r.rolname in ('holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_viewer', 'holdfast_maint')
          or (r.rolcanlogin and exists (
                select from pg_auth_members m
                 where m.member = r.oid
                   and m.roleid in (select g.oid from pg_roles g
                                     where g.rolname in ('holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_viewer', 'holdfast_maint'))))))
select 'H01' as code, null::uuid as job_id, format('%%s lacks its guard %%s, or it is not enabled ALWAYS', m.relname, g.name) as what
  from months m
  cross join unnest(array['history_is_append_only', 'history_is_kept', 'history_is_not_truncated', 'history_is_written_by_moves']) as g (name)
 where not exists (select from pg_trigger t where t.tgrelid = m.oid and t.tgname = g.name and t.tgenabled = 'A')
union all
select 'H02', null, format('%%s runs with the owner''s rights and pins no search_path that ends with pg_temp', p.oid::regprocedure)
  from pg_proc p
 where p.pronamespace = 'holdfast'::regnamespace and p.prosecdef
   and not exists (select from unnest(p.proconfig) as c (setting) where c.setting like 'search_path=%%, pg_temp')
union all
select 'H03', null, format('%%s is everybody''s to call', p.oid::regprocedure)
  from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) as a
 where p.pronamespace = 'holdfast'::regnamespace and a.grantee = 0
union all
select 'H03', null, format('%%s is everybody''s to %%s', c.relname, lower(a.privilege_type))
  from pg_class c, aclexplode(c.relacl) as a
 where c.relnamespace = 'holdfast'::regnamespace and a.grantee = 0
union all
select 'H04', null, format('constraint %%s has not been validated', k.conname)
  from pg_constraint k
 where k.connamespace = 'holdfast'::regnamespace and not k.convalidated
union all
select 'H05', null, format('%%s has rows of tenants and no row level security', c.relname)
  from pg_class c
  cross join owner o
 where o.is_apart and c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity
   and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname in ('tenant', 'job_id') and not a.attisdropped)
union all
select 'H06', null, format('%%s may %%s %%s', a.grantee::regrole, lower(a.privilege_type), c.relname)
  from pg_class c
  cross join owner o
  cross join lateral aclexplode(c.relacl) as a
 where c.relnamespace = 'holdfast'::regnamespace and a.grantee not in (0, o.oid, c.relowner)
   and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE', 'REFERENCES', 'TRIGGER')
union all
select 'H06', null, format('%%s may %%s columns of %%s', a.grantee::regrole, lower(a.privilege_type), c.relname)
  from pg_class c
  join pg_attribute t on t.attrelid = c.oid
  cross join owner o
  cross join lateral aclexplode(t.attacl) as a
 where c.relnamespace = 'holdfast'::regnamespace and a.grantee not in (o.oid, c.relowner) and a.privilege_type in ('INSERT', 'UPDATE', 'REFERENCES')
union all
select 'H06', null, format('%%s, whom applications log in as or through, %%s', p.rolname,
         case when p.rolsuper then 'is a superuser' when p.rolbypassrls then 'walks past row level security' else 'may act as the owner' end)
  from app p
  cross join owner o
 where p.rolsuper or p.rolbypassrls or pg_has_role(p.oid, o.oid, 'member')
union all
select 'H06', null, format('%%s belongs to %%s, and the schema to %%s', c.relname, c.relowner::regrole, o.oid::regrole)
  from pg_class c
  cross join owner o
 where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v', 'S') and c.relowner <> o.oid
union all
select 'H06', null, format('%%s belongs to %%s, and the schema to %%s', p.oid::regprocedure, p.proowner::regrole, o.oid::regrole)
  from pg_proc p
  cross join owner o
 where p.pronamespace = 'holdfast'::regnamespace and p.proowner <> o.oid
