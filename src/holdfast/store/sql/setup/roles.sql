-- The roles of least privilege, made where the migrating login may make roles. They cannot log in: grant them to logins.
-- Roles belong to the cluster: another database's migration may be making them at this moment, so a collision is no error.
set local search_path = pg_catalog, pg_temp;
do $$
declare
  v_role text;
begin
  if not (select r.rolsuper or r.rolcreaterole from pg_roles r where r.rolname = current_user) then
    raise notice 'holdfast: % may not create roles; everything will belong to it (single-role set-up)', current_user;
    return;
  end if;
  foreach v_role in array array['holdfast_owner', 'holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_unbound', 'holdfast_viewer', 'holdfast_maint'] loop
    begin
      execute format('create role %I nologin', v_role);
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
  -- Only a superuser may take a role out of all bounds; where none migrates, a policy lets it see everything, by slower plans.
  if (select r.rolsuper from pg_roles r where r.rolname = current_user)
     and not (select r.rolbypassrls from pg_roles r where r.rolname = 'holdfast_unbound') then
    begin
      alter role holdfast_unbound bypassrls;
    exception when internal_error then   -- "tuple concurrently updated": another database's migration does the same
      null;
    end;
  end if;
  -- Who may act as holdfast_api may step out of the tenants' bounds (holdfast.enter), and does not do so by itself: an inherited
  -- role's policies would count always.
  if not exists (select from pg_auth_members m where m.roleid = 'holdfast_unbound'::regrole and m.member = 'holdfast_api'::regrole) then
    begin
      if current_setting('server_version_num')::int >= 160000 then
        execute 'grant holdfast_unbound to holdfast_api with inherit false';   -- a syntax that 15 does not know
      else
        alter role holdfast_api noinherit;
        grant holdfast_unbound to holdfast_api;
      end if;
    exception when insufficient_privilege or unique_violation or internal_error then   -- internal: "tuple concurrently updated"
      raise notice 'holdfast: holdfast_api was not given holdfast_unbound';
    end;
  end if;
  -- From 16 on whoever makes a role administers it, and may yet not act as it.
  if not pg_has_role(current_user, 'holdfast_owner', case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) then
    begin
      execute format('grant holdfast_owner to %I', current_user);
    exception when insufficient_privilege or unique_violation then
      raise notice 'holdfast: % may not act as holdfast_owner; everything will belong to it', current_user;
    end;
  end if;
end $$;
