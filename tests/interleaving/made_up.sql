-- Statements such as the machine has none of, in each of which something is done after a stop within it.
create function holdfast.made_up_stop() returns boolean
language plpgsql as $$
begin
  perform 1
     from holdfast.queue q
    where q.name = 'nobody';
  return true;
end $$;

create function holdfast.made_up_look() returns boolean
language sql stable as $$
  select exists (select from holdfast.tenant t where t.weight = 3)
$$;

-- An expression without a query, of which the server shows nothing.
create function holdfast.made_up_expression() returns boolean
language plpgsql as $$
begin
  return holdfast.made_up_stop() and holdfast.made_up_look();
end $$;

-- A table with its columns looks like a function with its arguments.
create function holdfast.made_up_insert() returns text
language plpgsql as $$
declare
  v_reason text;
begin
  insert into holdfast.queue (name, reason)
  select 'made up', case when holdfast.made_up_stop() then holdfast.made_up_look()::text end
  returning reason into v_reason;
  return v_reason;
end $$;

-- The server puts its expression in the place of the call.
create function holdfast.made_up_inlined() returns boolean
language sql as $$
  select holdfast.made_up_stop() and holdfast.made_up_look()
$$;

-- Its second statement sees what its caller's sees, and not what was committed before it.
create function holdfast.made_up_stable() returns boolean
language plpgsql stable as $$
begin
  perform holdfast.made_up_stop();
  return holdfast.made_up_look();
end $$;

-- Finds rows before the stop, and locks them after it.
create function holdfast.made_up_lock() returns text
language plpgsql as $$
declare
  v_names text;
begin
  select string_agg(l.name, ' ') into v_names
    from (select t.name from holdfast.tenant t order by t.name for no key update skip locked) as l
   where holdfast.made_up_stop();
  return v_names;
end $$;

create function holdfast.made_up_write() returns void
language plpgsql as $$
begin
  update holdfast.tenant t
     set weight = 3
   where t.name = 'a';
end $$;

create function holdfast.made_up_lock_and_write() returns text
language plpgsql as $$
declare
  v_name text;
begin
  select t.name into v_name
    from holdfast.tenant t
   where t.name = 'a'
     for no key update skip locked;
  update holdfast.tenant t
     set weight = 3
   where t.name = 'b';
  return v_name;
end $$;

-- Its body is no text.
create function holdfast.made_up_key() returns boolean
language sql
begin atomic
  select pg_try_advisory_xact_lock(1);
end;
