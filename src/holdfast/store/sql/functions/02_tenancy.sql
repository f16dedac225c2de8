-- Whose rows a caller may touch. holdfast.tenant says it, for one transaction (holdfast.enter): a tenant's name binds the caller to
-- that tenant; '*' is a caller bound to none; unset is the application itself, which calls functions and reads no table.

-- The tenant that the caller is bound to, or null.
create or replace function holdfast.bound_tenant() returns text
language sql stable parallel safe
return nullif(nullif(current_setting('holdfast.tenant', true), ''), '*');

-- What the policies compare with: unset and '' are nobody's rows.
create or replace function holdfast.seen_tenant() returns text
language sql stable parallel safe
return nullif(current_setting('holdfast.tenant', true), '');

-- Whether what belongs to this tenant, or to none, is the caller's business.
create or replace function holdfast.may_touch(p_tenant text) returns boolean
language sql stable parallel safe
return coalesce(holdfast.bound_tenant() = p_tenant, holdfast.bound_tenant() is null);

-- For views, which read with their owner's eyes.
create or replace function holdfast.may_see(p_tenant text) returns boolean
language sql stable parallel safe
return coalesce(holdfast.seen_tenant() in ('*', p_tenant), false);

-- What is everybody's (queues, tasks, flags, quotas …) is changed by callers that are bound to no tenant.
create or replace function holdfast.require_unbound(p_what text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if holdfast.bound_tenant() is not null then
    raise exception '% belongs to no tenant: who is bound to one cannot change it', p_what using errcode = 'HF015';
  end if;
end $$;

create or replace function holdfast.require_own(p_tenant text, p_what text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if not holdfast.may_touch(p_tenant) then
    raise exception '% is not for the tenant that the caller is bound to', p_what using errcode = 'HF015';
  end if;
end $$;

-- Who or what is bound to a tenant needs a database that can keep it to that, and a tenant that is one: * is all of them.
create or replace function holdfast.require_bounds(p_tenant text) returns void
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_tenant in ('', '*') then
    raise exception '% is no tenant that somebody can be bound to', quote_literal(p_tenant) using errcode = 'HF005';
  end if;
  if p_tenant is not null and not holdfast.has_roles() then
    raise exception 'this database has a single role, and cannot keep tenants apart: nobody can be bound to one'
      using errcode = 'HF016', hint = 'Migrate it once by a login that may create roles.';
  end if;
end $$;

-- What a caller that is bound to a tenant enqueues is that tenant's; who leaves it out means it. Only what is encrypted says whose
-- it is, because it is bound to that. Jobs that it is to run after are looked at where they are joined.
create or replace function holdfast.own_jobs(p_jobs jsonb) returns jsonb
language plpgsql stable set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_own jsonb := jsonb_build_object('tenant', holdfast.bound_tenant());
  v_nth bigint;
  v_one jsonb;
begin
  select e.nth, e.one into v_nth, v_one
    from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
   where not holdfast.may_touch(case when e.one ->> 'tenant' is null and not coalesce(e.one -> 'payload' ? '$encrypted', false)
                                     then holdfast.bound_tenant() else e.one ->> 'tenant' end)
      or (e.one ->> 'parent' is not null and not exists (
            select from holdfast.job j where j.id = (e.one ->> 'parent')::uuid and holdfast.may_touch(j.tenant)))
   order by e.nth
   limit 1;
  if found then
    perform holdfast.require_own(null, format(case when v_one ->> 'tenant' is null and v_one -> 'payload' ? '$encrypted'
                                                   then 'job %s, which is encrypted for no tenant,' else 'job %s' end, v_nth));
  end if;
  return (select coalesce(jsonb_agg(e.one || v_own order by e.nth), '[]') from jsonb_array_elements(p_jobs) with ordinality as e (one, nth));
end $$;

-- The tenant of a channel: tenant:… has one, every other channel may have events of several.
create or replace function holdfast.channel_tenant(p_channel text) returns text
language sql immutable parallel safe
return case when starts_with(p_channel, 'tenant:') then substr(p_channel, 8) end;

-- Limits the rest of a transaction to one tenant's rows; '*' is all of them. Not only by the setting: a login that owns the schema,
-- or that no policy binds, goes on as a role that they do bind. '*' goes on as a role without bounds, because behind any policy,
-- be it true, PostgreSQL trusts no operator that is not leakproof, and the indexes by status and tag serve no list any more.
create or replace function holdfast.enter(p_tenant text) returns void
language plpgsql volatile set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_role text := case when p_tenant = '*' then 'holdfast_unbound' else 'holdfast_api' end;
begin
  if coalesce(p_tenant, '') = '' then
    raise exception 'enter needs a tenant, or * for all' using errcode = 'HF005';
  end if;
  perform set_config('holdfast.tenant', p_tenant, true);
  -- Roles belong to the cluster, rights to the database: another database's migration may have made a role that has none here.
  if holdfast.has_roles() and holdfast.may_act_as(session_user, v_role) and has_schema_privilege(v_role, 'holdfast', 'usage') then
    perform set_config('role', v_role, true);
  elsif p_tenant <> '*' then
    raise exception 'this database cannot keep tenants apart for %: who is bound to a tenant is not served', session_user
      using errcode = 'HF016', hint = 'Log in with holdfast_api, in a database that was migrated by a login that may create roles.';
  end if;
end $$;

-- Whether this database has the roles of least privilege, or one role that owns everything and does everything.
create or replace function holdfast.has_roles() returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select n.nspowner::regrole::text = 'holdfast_owner' and to_regrole('holdfast_api') is not null
    from pg_namespace n
   where n.nspname = 'holdfast'
$$;

create or replace function holdfast.may_act_as(p_who name, p_role text) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select to_regrole(p_role) is not null
     and pg_has_role(p_who, to_regrole(p_role), case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)
$$;

-- Whether callers bound to none can step out of the bounds (holdfast.enter); where they cannot, policies let them see everything.
create or replace function holdfast.can_step_out() returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.has_roles() and holdfast.may_act_as('holdfast_api', 'holdfast_unbound')
$$;
