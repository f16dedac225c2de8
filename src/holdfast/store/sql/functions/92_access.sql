-- The service's doors: keys, answers that are kept, and the audit of what was done through them.

-- The key of this id while it counts; says when it was used, to the minute.
create or replace function holdfast.find_key(p_id text) returns table (digest bytea, name text, tenant text, scopes text[])
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
begin
  update holdfast.api_key k
     set used_at = v_now
   where k.id = p_id and k.revoked_at is null and coalesce(k.expires_at, 'infinity') > v_now
     and coalesce(k.used_at, '-infinity') < v_now - interval '1 minute';
  return query
    select k.digest, k.name::text, k.tenant::text, k.scopes
      from holdfast.api_key k
     where k.id = p_id and k.revoked_at is null and coalesce(k.expires_at, 'infinity') > v_now;
end $$;

create or replace function holdfast.create_key(
  p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamptz, p_actor text) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.require_own(p_tenant, 'a key');
  insert into holdfast.api_key (id, digest, name, tenant, scopes, expires_at, created_by)
  values (p_id, p_digest, p_name, p_tenant, p_scopes, p_expires_at, p_actor)
$$;

-- The answer that this request got before, or nothing: then its effect and its answer belong into this transaction. Who asks the
-- same at the same time waits here for it.
create or replace function holdfast.begin_request(p_tenant text, p_key text, p_digest bytea)
returns table (is_same boolean, status int, answer text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_own(nullif(p_tenant, ''), 'an answer');
  delete from holdfast.request r where r.tenant = p_tenant and r.key = p_key and r.at < holdfast.clock() - interval '24 hours';
  insert into holdfast.request (tenant, key, digest) values (p_tenant, p_key, p_digest) on conflict do nothing;
  if not found then
    return query
      select r.digest = p_digest, r.status, r.answer from holdfast.request r where r.tenant = p_tenant and r.key = p_key;
  end if;
end $$;

create or replace function holdfast.keep_answer(p_tenant text, p_key text, p_status int, p_answer text) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.require_own(nullif(p_tenant, ''), 'an answer');
  update holdfast.request r set status = p_status, answer = p_answer where r.tenant = p_tenant and r.key = p_key
$$;

create or replace function holdfast.record_action(
  p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select holdfast.require_own(p_tenant, 'the audit');
  insert into holdfast.audit (actor, address, action, target, tenant, reason, data)
  values (p_actor, p_address, p_action, p_target, p_tenant, p_reason, p_data)
$$;

select holdfast.make_append_only('holdfast.audit', 'audit', 'the audit is');
