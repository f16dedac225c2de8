-- People: who they are, how often somebody may try to be one of them, and their sessions.

-- Half an hour without a request ends a session, and so do twelve hours with them.
create or replace function holdfast.session_counts(p_session holdfast.session) returns boolean
language sql stable set search_path = pg_catalog, holdfast, pg_temp as $$
  select p_session.seen_at > holdfast.clock() - interval '30 minutes' and p_session.begun_at > holdfast.clock() - interval '12 hours'
$$;

create or replace function holdfast.create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('a person');
  perform holdfast.require_bounds(p_tenant);
  insert into holdfast.person (name, password, role, tenant, created_by)
  values (p_name, p_password, p_role, p_tenant, p_actor)
  on conflict (name) do nothing;
  if not found then
    raise exception 'there is a person called % already', quote_literal(p_name)
      using errcode = 'HF074', hint = 'Change them with: holdfast user role, password, disable or enable.';
  end if;
end $$;

create or replace function holdfast.refuse_stranger(p_name text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  raise exception 'nobody is called %', quote_literal(p_name) using errcode = 'HF073', hint = 'holdfast user list shows everybody.';
end $$;

-- Counts from the next request on: roles are looked up with every session.
create or replace function holdfast.set_role(p_name text, p_role text, p_tenant text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('a person');
  perform holdfast.require_bounds(p_tenant);
  update holdfast.person p set role = p_role, tenant = p_tenant where p.name = p_name;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
end $$;

-- Whoever knew the password before is out.
create or replace function holdfast.set_password(p_name text, p_password text) returns void
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.require_unbound('a person');
  update holdfast.person p set password = p_password where p.name = p_name;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
  delete from holdfast.session s where s.person = p_name;
  delete from holdfast.device d where d.person = p_name;
end $$;

-- Whether it was otherwise until now.
create or replace function holdfast.disable_person(p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_was_enabled boolean;
begin
  perform holdfast.require_unbound('a person');
  select p.disabled_at is null into v_was_enabled from holdfast.person p where p.name = p_name for update;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
  update holdfast.person p set disabled_at = coalesce(p.disabled_at, holdfast.clock()) where p.name = p_name;
  delete from holdfast.session s where s.person = p_name;
  delete from holdfast.device d where d.person = p_name;
  return v_was_enabled;
end $$;

create or replace function holdfast.enable_person(p_name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_was_disabled boolean;
begin
  perform holdfast.require_unbound('a person');
  select p.disabled_at is not null into v_was_disabled from holdfast.person p where p.name = p_name for update;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
  update holdfast.person p set disabled_at = null where p.name = p_name;
  return v_was_disabled;
end $$;

-- Everybody, without passwords.
create or replace function holdfast.list_people()
returns table (name text, role text, tenant text, created_at timestamptz, created_by text, disabled_at timestamptz,
               signed_in_at timestamptz, sessions bigint)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select p.name, p.role, p.tenant::text, p.created_at, p.created_by, p.disabled_at, p.signed_in_at,
         (select count(*) from holdfast.session s where s.person = p.name and holdfast.session_counts(s))
    from holdfast.person p
   where holdfast.may_touch(p.tenant)
   order by p.name
$$;

-- Whether there is anybody who could get in.
create or replace function holdfast.has_callers() returns boolean
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select exists (select from holdfast.api_key k where holdfast.key_counts(k))
      or exists (select from holdfast.person p where p.disabled_at is null)
$$;

-- -- logging in ---------------------------------------------------------------------------------------------------------

-- What is needed to let a person in, and whether they came from this device before.
create or replace function holdfast.find_person(p_name text, p_device bytea)
returns table (password text, is_known_device boolean)
language sql stable security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  select p.password, exists (select from holdfast.device d where d.digest = p_device and d.person = p.name)
    from holdfast.person p
   where p.name = p_name
$$;

-- Takes a try from each bucket, or from none: null when there was one in all of them, else how long to wait. A bucket holds
-- so many tries, which come back evenly over its period. Taken before the password is looked at: tries at once are as many tries.
create or replace function holdfast.take_tries(p_buckets text[], p_tries int[], p_periods interval[]) returns interval
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz;
  v_wait interval;
begin
  -- Also locks them, in one order for everybody.
  insert into holdfast.login_try as t (bucket, empty_at)
  select a.bucket, holdfast.clock() from unnest(p_buckets) as a (bucket) order by a.bucket
  on conflict (bucket) do update set empty_at = t.empty_at;
  v_now := holdfast.clock();
  select max(greatest(t.empty_at, v_now) + a.period / a.tries - v_now - a.period)
    into v_wait
    from unnest(p_buckets, p_tries, p_periods) as a (bucket, tries, period)
    join holdfast.login_try t on t.bucket = a.bucket;
  if v_wait > interval '0' then
    return v_wait;
  end if;
  update holdfast.login_try t
     set empty_at = greatest(t.empty_at, v_now) + a.period / a.tries
    from unnest(p_buckets, p_tries, p_periods) as a (bucket, tries, period)
   where t.bucket = a.bucket;
  return null;
end $$;

-- A new session for a person whose password was right, instead of the one that their browser had; gives the try back.
-- False when the person was disabled or the password changed since it was looked at.
create or replace function holdfast.begin_session(
  p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text,
  p_buckets text[], p_tries int[], p_periods interval[]) returns boolean
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_now timestamptz := holdfast.clock();
begin
  update holdfast.person p
     set signed_in_at = v_now, password = coalesce(p_new_password, p.password)
   where p.name = p_name and p.password = p_password and p.disabled_at is null;
  if not found then
    return false;
  end if;
  delete from holdfast.session s where s.digest = p_instead_of;
  insert into holdfast.session (digest, person, begun_at, seen_at, address) values (p_digest, p_name, v_now, v_now, p_address);
  insert into holdfast.device as d (digest, person, seen_at) values (p_device, p_name, v_now)
  on conflict (digest) do update set seen_at = excluded.seen_at where d.person = excluded.person;
  update holdfast.login_try t
     set empty_at = t.empty_at - a.period / a.tries
    from unnest(p_buckets, p_tries, p_periods) as a (bucket, tries, period)
   where t.bucket = a.bucket;
  return true;
end $$;

-- -- sessions -----------------------------------------------------------------------------------------------------------

-- Who a session belongs to, while it counts. A request is a sign of life, written to the minute; a look is not.
create or replace function holdfast.find_session(p_digest bytea, p_is_request boolean) returns table (name text, role text, tenant text)
language plpgsql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  if p_is_request then
    update holdfast.session s
       set seen_at = holdfast.clock()
     where s.digest = p_digest and holdfast.session_counts(s) and s.seen_at < holdfast.clock() - interval '1 minute';
  end if;
  return query
    select p.name, p.role, p.tenant::text
      from holdfast.session s
      join holdfast.person p on p.name = s.person
     where s.digest = p_digest and holdfast.session_counts(s) and p.disabled_at is null;
end $$;

-- Whose it was.
create or replace function holdfast.end_session(p_digest bytea) returns text
language sql security definer set search_path = pg_catalog, holdfast, pg_temp as $$
  delete from holdfast.session s where s.digest = p_digest returning s.person
$$;

create or replace function holdfast.forget_sessions() returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  delete from holdfast.session s where s.begun_at < holdfast.clock() - interval '12 hours';
  delete from holdfast.device d where d.seen_at < holdfast.clock() - interval '90 days';
  delete from holdfast.login_try t where t.empty_at < holdfast.clock();
$$;
