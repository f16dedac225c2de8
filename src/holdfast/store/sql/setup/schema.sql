set local lock_timeout = '3s';
-- The schema and its register of what is installed. Owned by holdfast_owner where the login may act as it.
-- The path is pinned: the names in our functions must not be bound to a better match that somebody put into public.
set local search_path = pg_catalog, holdfast, pg_temp;
do $$
begin
  if to_regnamespace('holdfast') is null then
    if to_regrole('holdfast_owner') is not null and pg_has_role(current_user, 'holdfast_owner',
         case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end) then
      create schema holdfast authorization holdfast_owner;
    else
      create schema holdfast;
    end if;
  end if;
  if (select n.nspowner::regrole::text <> current_user from pg_namespace n where n.nspname = 'holdfast') then
    execute format('set local role %s', (select n.nspowner::regrole from pg_namespace n where n.nspname = 'holdfast'));
  end if;
end $$;
create table if not exists holdfast.installed (
  what     text primary key,
  checksum text not null,
  at       timestamptz not null default clock_timestamp()
);
