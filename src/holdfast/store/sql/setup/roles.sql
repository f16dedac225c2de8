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
  foreach v_role in array array['holdfast_owner', 'holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_viewer', 'holdfast_maint'] loop
    begin
      execute format('create role %I nologin', v_role);
    exception when duplicate_object or unique_violation then
      null;
    end;
  end loop;
  -- From 16 on whoever makes a role administers it, and may yet not act as it.
  if not pg_has_role(current_user, 'holdfast_owner', case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) then
    begin
      execute format('grant holdfast_owner to %I', current_user);
    exception when insufficient_privilege or unique_violation then
      raise notice 'holdfast: % may not act as holdfast_owner; everything will belong to it', current_user;
    end;
  end if;
end $$;
