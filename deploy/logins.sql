-- The logins of least privilege, for whoever may create roles, in the database where Holdfast will live, before the first
-- `holdfast db migrate`. May be repeated. It sets no passwords: do that apart, or let logins come in by certificate.
do $$
declare
  v_role text;
begin
  foreach v_role in array array['holdfast_owner', 'holdfast_producer', 'holdfast_worker', 'holdfast_api', 'holdfast_unbound', 'holdfast_viewer', 'holdfast_maint'] loop
    if to_regrole(v_role) is null then
      execute format('create role %I nologin', v_role);
    end if;
  end loop;
  foreach v_role in array array['shop_migrate', 'shop_worker', 'shop_server'] loop
    if to_regrole(v_role) is null then
      execute format('create role %I login', v_role);
    end if;
  end loop;
  -- Callers that are bound to no tenant step out of holdfast_api's bounds; nobody does so by inheriting it.
  if current_setting('server_version_num')::int >= 160000 then
    execute 'grant holdfast_unbound to holdfast_api with inherit false';
  else
    alter role holdfast_api noinherit;
    grant holdfast_unbound to holdfast_api;
  end if;
  if (select r.rolsuper from pg_roles r where r.rolname = current_user) then
    alter role holdfast_unbound bypassrls;   -- lists by status and tag are quicker so
  end if;
  -- The schema will belong to holdfast_owner, which nobody logs in as; only who migrates may act as it.
  execute format('grant create on database %I to shop_migrate', current_database());
end $$;
grant holdfast_owner to shop_migrate;
grant holdfast_worker to shop_worker;
grant holdfast_api to shop_server;
