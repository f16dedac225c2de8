-- H, guards in place, by rule: triggers that no setting walks past on every month of the history, functions with the owner's rights
-- that cannot be led astray, and nobody who may more than a role is meant to.
with recursive months as (
  select c.oid, c.relname
    from pg_inherits i
    join pg_class c on c.oid = i.inhrelid
   where i.inhparent = 'holdfast.job_history'::regclass),
owner as (
  select n.nspowner as oid, n.nspowner::regrole::text = 'holdfast_owner' and to_regrole('holdfast_api') is not null as is_apart
    from pg_namespace n
   where n.nspname = 'holdfast'),
member as (   -- From 16 on whoever makes a role is its member and may yet neither act as it nor inherit it; 15 knows no such difference.
  select m.member, m.roleid, coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, r.rolinherit) as inherits
    from pg_auth_members m
    join pg_roles r on r.oid = m.member
   where coalesce((to_jsonb(m) ->> 'inherit_option')::boolean, true) or coalesce((to_jsonb(m) ->> 'set_option')::boolean, true)),
reach as (    -- whoever somebody may become, also through others
  select m.member, m.roleid from member m
  union
  select r.member, m.roleid from reach r join member m on m.member = r.roleid),
app as (      -- logins of applications, and the roles that they have
  select r.oid, r.rolname
    from pg_roles r
    cross join owner o
    cross join (select array(select g.oid from pg_roles g
                              where g.rolname in ('holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_viewer', 'holdfast_maint')) as oids) as theirs
   where o.is_apart
     and (r.oid = any (theirs.oids)
          or (r.rolcanlogin and exists (select from reach e where e.member = r.oid and e.roleid = any (theirs.oids))))),
becomes as (
  select a.rolname, a.oid as who, a.oid as whom from app a
  union
  select a.rolname, a.oid, e.roleid from app a join reach e on e.member = a.oid)
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
select 'H03', null, format('%%s of %%s is everybody''s to %%s', t.attname, c.relname, lower(a.privilege_type))
  from pg_class c
  join pg_attribute t on t.attrelid = c.oid
  cross join lateral aclexplode(t.attacl) as a
 where c.relnamespace = 'holdfast'::regnamespace and a.grantee = 0
union all
select 'H03', null, format('the schema is everybody''s: %%s', lower(a.privilege_type))
  from pg_namespace n, aclexplode(n.nspacl) as a
 where n.nspname = 'holdfast' and a.grantee = 0
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
select 'H06', null, format('%%s, whom applications log in as or through, %%s%%s', b.rolname,
         case when b.whom <> b.who then format('may act as %%s, who ', g.rolname) end,
         case when g.rolsuper then 'is a superuser'
              when g.oid = o.oid then 'owns everything'
              when g.rolbypassrls then 'walks past row level security'
              when g.rolname = 'pg_read_all_data' then 'reads every table'
              when g.rolname = 'pg_write_all_data' then 'writes every table'
              else 'reaches the server''s own files and programs' end)
  from becomes b
  join pg_roles g on g.oid = b.whom
  cross join owner o
 where g.rolsuper or g.oid = o.oid or (g.rolbypassrls and g.rolname <> 'holdfast_unbound')
    or g.rolname in ('pg_read_all_data', 'pg_write_all_data', 'pg_read_server_files', 'pg_write_server_files', 'pg_execute_server_program')
union all
select 'H06', null, format('%%s may act as holdfast_unbound, as only holdfast_api may, and that without inheriting it', m.member::regrole)
  from member m
  cross join owner o
 where o.is_apart and m.roleid = to_regrole('holdfast_unbound') and (m.member is distinct from to_regrole('holdfast_api') or m.inherits)
union all
select 'H06', null, format('%%s can log in, and is nobody''s login', r.rolname)
  from pg_roles r
  cross join owner o
 where o.is_apart and r.rolcanlogin and r.rolname in ('holdfast_owner', 'holdfast_unbound')
union all
select 'H06', null, format('%%s belongs to %%s, and the schema to %%s', c.relname, c.relowner::regrole, o.oid::regrole)
  from pg_class c
  cross join owner o
 where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p', 'v', 'S') and c.relowner <> o.oid
union all
select 'H06', null, format('function %%s belongs to %%s, and the schema to %%s', p.oid::regprocedure, p.proowner::regrole, o.oid::regrole)
  from pg_proc p
  cross join owner o
 where p.pronamespace = 'holdfast'::regnamespace and p.proowner <> o.oid
