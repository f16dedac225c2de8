-- The service's doors: keys, answers that are kept, and the audit of what was done through them.

create or replace function holdfast.key_counts(p_key holdfast.api_key) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select p_key.revoked_at is null and coalesce(p_key.expires_at, 'infinity') > holdfast.clock()
$$;

-- The key of this id while it counts, and whether its last use is worth writing down.
create or replace function holdfast.find_key(p_id text)
returns table (digest bytea, name text, tenant text, scopes text[], is_long_unused boolean)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select k.digest, k.name::text, k.tenant::text, k.scopes, coalesce(k.used_at, '-infinity') < holdfast.clock() - interval '1 minute'
    from holdfast.api_key k
   where k.id = p_id and holdfast.key_counts(k)
$$;

-- Says that a key was used, to the minute. Not when it is looked up: who knows an id without its secret has not used the key.
create or replace function holdfast.use_key(p_id text) returns void
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  update holdfast.api_key k
     set used_at = holdfast.clock()
   where k.id = p_id and coalesce(k.used_at, '-infinity') < holdfast.clock() - interval '1 minute'
$$;

-- Two keys of a name at most count at any time: the one in use, and the one that replaces it.
create or replace function holdfast.create_key(
  p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamptz, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_own(p_tenant, 'a key');
  perform holdfast.require_bounds(p_tenant);
  perform pg_advisory_xact_lock(hashtextextended('holdfast:key:' || coalesce(p_tenant, '') || ':' || p_name, 0));
  if (select count(*) from holdfast.api_key k
       where k.name = p_name and k.tenant is not distinct from p_tenant and holdfast.key_counts(k)) >= 2 then
    raise exception 'two keys called % count already', quote_literal(p_name)
      using errcode = 'HF072', hint = 'Revoke one of them first, or wait until the older has expired.';
  end if;
  insert into holdfast.api_key (id, digest, name, tenant, scopes, expires_at, created_by)
  values (p_id, p_digest, p_name, p_tenant, p_scopes, p_expires_at, p_actor);
end $$;

-- The key of this id, for whom it concerns: a bound caller is told about its own tenant's keys only.
create or replace function holdfast.lock_key(p_id text, p_bound text) returns holdfast.api_key
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_key holdfast.api_key;
begin
  select * into v_key from holdfast.api_key k where k.id = p_id and (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant) for update;
  if not found then
    raise exception 'no key has the id %', quote_literal(p_id) using errcode = 'HF071';
  end if;
  return v_key;
end $$;

-- Makes a key like another, which goes on for a while. Without an end of its own the new one lives as long as the old one was to.
create or replace function holdfast.rotate_key(
  p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamptz, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_old holdfast.api_key := holdfast.lock_key(p_id, p_bound);
  v_now timestamptz := holdfast.clock();
begin
  if not holdfast.key_counts(v_old) then
    raise exception 'key % counts no more and cannot be replaced', quote_literal(p_id) using errcode = 'HF072', hint = 'Create another.';
  end if;
  update holdfast.api_key k
     set expires_at = least(coalesce(k.expires_at, 'infinity'), v_now + p_overlap)
   where k.id = p_id;
  perform holdfast.create_key(p_new_id, p_new_digest, v_old.name, v_old.tenant, v_old.scopes,
                              coalesce(p_expires_at, v_now + (v_old.expires_at - v_old.created_at)), p_actor);
end $$;

-- Whether it counted until now; once is for ever.
create or replace function holdfast.revoke_key(p_id text, p_bound text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_old holdfast.api_key := holdfast.lock_key(p_id, p_bound);
begin
  update holdfast.api_key k set revoked_at = holdfast.clock() where k.id = p_id and k.revoked_at is null;
  return holdfast.key_counts(v_old);
end $$;

-- Keys without their digests, newest first; one of them, or those after another.
create or replace function holdfast.list_keys(p_bound text, p_id text, p_after text, p_limit int)
returns table (id text, name text, tenant text, scopes text[], created_at timestamptz, created_by text,
               expires_at timestamptz, revoked_at timestamptz, used_at timestamptz, counts boolean)
language plpgsql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_after record;
begin
  select k.created_at, k.id into v_after from holdfast.api_key k
   where k.id = p_after and (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant);
  if p_after is not null and not found then
    raise exception 'no key has the id %', quote_literal(p_after) using errcode = 'HF005';
  end if;
  return query
    select k.id, k.name::text, k.tenant::text, k.scopes, k.created_at, k.created_by, k.expires_at, k.revoked_at, k.used_at,
           holdfast.key_counts(k)
      from holdfast.api_key k
     where (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant)
       and (p_id is null or k.id = p_id)
       and (p_after is null or (k.created_at, k.id) < (v_after.created_at, v_after.id))
     order by k.created_at desc, k.id desc
     limit p_limit;
end $$;

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
