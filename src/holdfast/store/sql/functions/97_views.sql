-- Saved views: a person's own, and those that everybody of a tenant shares.

-- Keeps a view; one of the same name is replaced. A hundred of each are enough to choose from, and more is a program gone wild.
create or replace function holdfast.save_view(
  p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_own(p_tenant, 'a view');
  perform pg_advisory_xact_lock(hashtextextended('holdfast:views:' || coalesce(p_tenant, '') || ':' || coalesce(p_owner, ''), 0));
  insert into holdfast.saved_view (tenant, owner, name, search, columns, reach, saved_by)
  values (p_tenant, p_owner, p_name, p_search, p_columns, p_reach, p_saved_by)
  on conflict on constraint saved_view_has_one_row_a_name do update
     set search = excluded.search, columns = excluded.columns, reach = excluded.reach,
         saved_by = excluded.saved_by, saved_at = excluded.saved_at;
  if (select count(*) from holdfast.saved_view v
       where v.tenant is not distinct from p_tenant and v.owner is not distinct from p_owner) > 100 then
    raise exception 'there are 100 views already' using errcode = 'HF005', hint = 'Delete one that nobody needs.';
  end if;
end $$;

-- Whether there was one.
create or replace function holdfast.delete_view(p_tenant text, p_owner text, p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_own(p_tenant, 'a view');
  delete from holdfast.saved_view v
   where v.tenant is not distinct from p_tenant and v.owner is not distinct from p_owner and v.name = p_name;
  return found;
end $$;
