-- What guards the tables, as the server writes it down: a line a guard, with a digest of what it says; of rights the words themselves. The
-- months of the history come and go: they are told of where they are not like the rest, and audit_guards.sql looks what they lack.
with apart as (   -- whether there are roles; where one owns and does everything, nobody has a right and no policy binds anybody
  select n.oid
    from pg_namespace n
   where n.nspname = 'holdfast' and n.nspowner::regrole::text = 'holdfast_owner' and to_regrole('holdfast_api') is not null),
all_tables as (
  select c.oid, c.relname::text as relname, c.relkind, c.relrowsecurity, c.relforcerowsecurity, c.relname ~ '^job_history_[0-9]{6}$' as is_month
    from pg_class c
   where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('r', 'p')),
ours as (
  select t.* from all_tables t where not t.is_month),
fires as (
  select e.relname, e.is_month, t.tgname::text as name, t.tgenabled::text || pg_get_triggerdef(t.oid) as says
    from pg_trigger t
    join all_tables e on e.oid = t.tgrelid
   where not t.tgisinternal),
policy as (
  select e.relname, e.is_month, p.polname::text as name,
         concat_ws(' ', p.polcmd, p.polpermissive, w.roles, coalesce(pg_get_expr(p.polqual, p.polrelid), '-'), coalesce(pg_get_expr(p.polwithcheck, p.polrelid), '-')) as says
    from pg_policy p
    join all_tables e on e.oid = p.polrelid
    join apart on true
    cross join lateral (
      select string_agg(case when r.oid = 0 then 'public' else r.oid::regrole::text end, ',' order by r.oid::regrole::text collate "C") as roles
        from unnest(p.polroles) as r (oid)
       -- Where nobody could make holdfast_unbound, holdfast_api is the one that may say '*' (holdfast.bind_to_tenants): it may either way.
       where not (p.polname = 'all_rows_when_asked' and r.oid = to_regrole('holdfast_api'))) as w
   where not (p.polname = 'all_rows' and w.roles = 'holdfast_unbound' and p.polcmd = 'r' and p.polpermissive
              and pg_get_expr(p.polqual, p.polrelid) = 'true')),
granted as (
  select 'function ' || p.oid::regprocedure::text as thing, a.grantee, lower(a.privilege_type) || case when a.is_grantable then ' and pass it on' else '' end as may
    from pg_proc p
    cross join lateral aclexplode(p.proacl) as a
   where p.pronamespace = 'holdfast'::regnamespace
  union all
  select case c.relkind when 'S' then 'sequence ' when 'v' then 'view ' else 'table ' end || c.relname, a.grantee,
         lower(a.privilege_type) || case when a.is_grantable then ' and pass it on' else '' end
    from pg_class c
    cross join lateral aclexplode(c.relacl) as a
   where c.relnamespace = 'holdfast'::regnamespace
  union all
  select 'table ' || c.relname, a.grantee, lower(a.privilege_type) || ' its column ' || t.attname
    from pg_class c
    join pg_attribute t on t.attrelid = c.oid
    cross join lateral aclexplode(t.attacl) as a
   where c.relnamespace = 'holdfast'::regnamespace and not t.attisdropped
  union all
  select 'schema ' || n.nspname, a.grantee, lower(a.privilege_type)
    from pg_namespace n
    cross join lateral aclexplode(n.nspacl) as a
   where n.nspname = 'holdfast'),
roles as (
  select r.oid, r.rolname::text as name
    from pg_roles r
    join apart on true
   where r.rolname in ('holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_unbound', 'holdfast_viewer', 'holdfast_maint'))
select 'function' as kind, p.oid::regprocedure::text as name, md5(pg_get_functiondef(p.oid)) as digest
  from pg_proc p
 where p.pronamespace = 'holdfast'::regnamespace and p.prokind <> 'a'
union all
select 'trigger', f.relname || '.' || f.name, md5(f.says)
  from fires f
 where not f.is_month
    or not exists (select from fires r where r.relname = 'job_history_rest' and r.name = f.name and r.says = replace(f.says, f.relname, r.relname))
union all
-- A rule in place of or beside a statement: none is released, and that which makes a view a view is looked at with it.
select 'rule', c.relname || '.' || r.rulename, md5(r.ev_enabled::text || pg_get_ruledef(r.oid))
  from pg_rewrite r
  join pg_class c on c.oid = r.ev_class
 where c.relnamespace = 'holdfast'::regnamespace and not (c.relkind in ('v', 'm') and r.rulename = '_RETURN')
union all
-- From 16 on columns of a view's only table stand without its alias.
select 'view', c.relname::text,
       md5(regexp_replace(regexp_replace(pg_get_viewdef(c.oid), '\m[a-z]\.', '', 'g'), '\s+', ' ', 'g') || coalesce(array_to_string(c.reloptions, ','), ''))
  from pg_class c
 where c.relnamespace = 'holdfast'::regnamespace and c.relkind in ('v', 'm')
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
select 'row security', o.relname, md5(o.relrowsecurity::text || o.relforcerowsecurity::text)
  from ours o
  join apart on true
union all
select 'policy', p.relname || '.' || p.name, md5(p.says)
  from policy p
 where not p.is_month
    or not exists (select from policy r where r.relname = 'job_history_rest' and r.name = p.name and r.says = p.says)
union all
-- What holdfast_unbound has of holdfast_api's is no line of its own: where nobody could make the role, it has nothing.
select 'rights on', g.thing, string_agg(r.name || ' may ' || g.may, ', ' order by (r.name || ' may ' || g.may) collate "C")
  from granted g
  join roles r on r.oid = g.grantee
 where not (r.name = 'holdfast_unbound'
            and exists (select from granted b join roles q on q.oid = b.grantee where q.name = 'holdfast_api' and b.thing = g.thing and b.may = g.may))
 group by g.thing
