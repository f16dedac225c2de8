--
-- PostgreSQL database dump
--

--
-- Name: holdfast; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA holdfast;

--
-- Name: job_id; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.job_id AS uuid
	CONSTRAINT id_is_a_uuid_version_7 CHECK (((get_byte(uuid_send(VALUE), 6) >= 112) AND (get_byte(uuid_send(VALUE), 6) <= 127)));

--
-- Name: job_status; Type: TYPE; Schema: holdfast; Owner: -
--

CREATE TYPE holdfast.job_status AS ENUM (
    'PENDING',
    'RUNNING',
    'RETRY',
    'WAITING_FOR_APPROVAL',
    'WAITING',
    'COMPLETED',
    'FAILED',
    'CANCELLED'
);

--
-- Name: json_object; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast."json_object" AS jsonb
	CONSTRAINT it_is_an_object CHECK ((jsonb_typeof(VALUE) = 'object'::text))
	CONSTRAINT it_is_small CHECK ((pg_column_size(VALUE) <= 2097152));

--
-- Name: json_value; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast."json_value" AS jsonb
	CONSTRAINT it_is_small CHECK ((pg_column_size(VALUE) <= 2097152));

--
-- Name: key_scope; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.key_scope AS text
	CONSTRAINT key_scope_is_known CHECK ((VALUE = ANY (ARRAY['active'::text, 'success'::text, 'ever'::text])));

--
-- Name: long_name; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.long_name AS text
	CONSTRAINT long_name_has_1_to_500_characters CHECK (((VALUE <> ''::text) AND (length(VALUE) <= 500)));

--
-- Name: name; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.name AS text
	CONSTRAINT name_has_1_to_200_characters CHECK (((VALUE <> ''::text) AND (length(VALUE) <= 200)));

--
-- Name: priority; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.priority AS smallint
	CONSTRAINT priority_is_within_100 CHECK (((VALUE >= '-100'::integer) AND (VALUE <= 100)));

--
-- Name: small_count; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.small_count AS smallint
	CONSTRAINT count_is_within_100 CHECK (((VALUE >= 0) AND (VALUE <= 100)));

--
-- Name: tags; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.tags AS jsonb
	CONSTRAINT tags_are_a_list CHECK ((jsonb_typeof(VALUE) = 'array'::text));

--
-- Name: act_as_worker(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.act_as_worker(p_worker uuid) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_name text;
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker and w.died_at is null;
  if not found then
    raise exception 'worker % is not registered, or was declared dead', p_worker
      using errcode = 'HF002', hint = 'Register again under a new id; its jobs belong to others now.';
  end if;
  perform set_config('holdfast.actor', v_name, true);
  return v_name;
end $$;

--
-- Name: actor(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.actor() RETURNS text
    LANGUAGE sql STABLE
    RETURN COALESCE(NULLIF(current_setting('holdfast.actor'::text, true), ''::text), (SESSION_USER)::text);

--
-- Name: admit_due(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.admit_due(p_limit integer, OUT admitted bigint, OUT next_in double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  c_gated constant int := 250;
  v_now timestamptz := holdfast.clock();
  v_queues text[];
  v_gated uuid[];
  v_job holdfast.job;
  v_answer text;
  v_full text[] := '{}';
  v_more boolean;
  v_others bigint;
begin
  with due as materialized (
    select j.id, j.ties & 1 = 1 as gated
      from holdfast.job j
     where j.due_at <= v_now and j.due_at is not null and j.claim_order is null and j.held_by is null
     order by j.due_at
     limit p_limit
       for no key update skip locked),
  entered as (
    update holdfast.job j
       set claim_order = holdfast.place_in_line(j.due_at, j.priority)
      from due
     where not due.gated and j.id = any (array[due.id::uuid]) and j.claim_order is null and coalesce(j.due_at, 'infinity') <= v_now
    returning j.queue)
  select (select count(*) from entered), (select array_agg(distinct e.queue::text) from entered e),
         (select array_agg(d.id::uuid) from due d where d.gated)
    into admitted, v_queues, v_gated;
  v_more := coalesce(cardinality(v_gated), 0) > c_gated;
  for v_job in
    select j.* from unnest(v_gated[1:c_gated]) as g (id) join holdfast.job j on j.id = any (array[g.id])
     order by holdfast.place_in_line(j.due_at, j.priority), j.id
  loop
    v_answer := holdfast.admit_one(v_job, v_now, v_full);
    if v_answer = '' then
      admitted := admitted + 1;
      v_queues := v_queues || v_job.queue::text;
    elsif v_answer like 'limit:%' then
      v_full := v_full || substr(v_answer, 7);
    end if;
  end loop;
  v_others := holdfast.admit_rated(c_gated) + holdfast.open_again(c_gated);
  admitted := admitted + v_others;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  if v_more or v_others > 0 or holdfast.clear_closed(p_limit) >= p_limit then
    next_in := 0;
    return;
  end if;
  select extract(epoch from least(
           (select j.due_at
              from holdfast.job j
             where j.due_at > v_now and j.claim_order is null and j.held_by is null   -- what is due already is locked by somebody who is at it
             order by j.due_at
             limit 1),
           (select w.next_at from holdfast.rate_wait w where w.next_at > v_now order by w.next_at limit 1)) - v_now)
    into next_in;
end $$;

--
-- Name: clock(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.clock() RETURNS timestamp with time zone
    LANGUAGE sql PARALLEL SAFE
    RETURN clock_timestamp();

--
-- Name: new_id(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.new_id() RETURNS uuid
    LANGUAGE plpgsql PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_micros bigint := (date_part('epoch', holdfast.clock()) * 1000000)::bigint;
begin
  return encode(
    substring(int8send(v_micros / 1000) from 3)
    || int2send((28672 + v_micros % 1000 * 4096 / 1000)::int2)   -- 0x7000: version 7
    || substring(uuid_send(gen_random_uuid()) from 9),           -- the variant bits as gen_random_uuid sets them
    'hex')::uuid;
end $$;

--
-- Name: job; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.job (
    id holdfast.job_id DEFAULT holdfast.new_id() NOT NULL,
    created_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    updated_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    claim_order timestamp with time zone DEFAULT holdfast.clock(),
    due_at timestamp with time zone,
    deadline_at timestamp with time zone,
    finished_at timestamp with time zone,
    claim_id uuid,
    holder uuid,
    approval_id uuid,
    retry_of uuid,
    status holdfast.job_status DEFAULT 'PENDING'::holdfast.job_status NOT NULL,
    came_from holdfast.job_status,
    attempt integer DEFAULT 0 NOT NULL,
    seq integer DEFAULT 1 NOT NULL,
    priority holdfast.priority DEFAULT 0 NOT NULL,
    retry_count smallint DEFAULT 0 NOT NULL,
    max_retries holdfast.small_count DEFAULT 3 NOT NULL,
    crash_count smallint DEFAULT 0 NOT NULL,
    suspect boolean DEFAULT false NOT NULL,
    key_held boolean DEFAULT false NOT NULL,
    task holdfast.name NOT NULL,
    queue holdfast.name DEFAULT 'default'::text NOT NULL,
    tenant holdfast.name,
    subject holdfast.long_name,
    key holdfast.long_name,
    key_scope holdfast.key_scope,
    held_by text,
    reason text,
    label holdfast.long_name,
    requested_by text,
    trace_parent text,
    timeout interval,
    tags holdfast.tags,
    metadata holdfast."json_object",
    payload holdfast."json_object" DEFAULT '{}'::jsonb NOT NULL,
    result holdfast."json_value",
    error jsonb,
    ties smallint DEFAULT 0 NOT NULL,
    parent_id uuid,
    compensates uuid
)
WITH (fillfactor='85', autovacuum_vacuum_scale_factor='0.02', autovacuum_vacuum_insert_scale_factor='0.2', autovacuum_analyze_scale_factor='0.1', autovacuum_vacuum_cost_delay='0');

--
-- Name: admit_one(holdfast.job, timestamp with time zone, text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.admit_one(p_job holdfast.job, p_now timestamp with time zone, p_full text[] DEFAULT '{}'::text[]) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_answer record := holdfast.pass_gates(p_job, p_now, p_full);
begin
  if v_answer.busy then
    -- Out of the parking and due at once, or due a little later. A job that waits for a person has no time: the sweeper looks after it.
    update holdfast.job j
       set held_by = case when j.status = 'WAITING_FOR_APPROVAL' then 'limit:?' else null end,
           due_at = case when j.status <> 'WAITING_FOR_APPROVAL'
                         then case when p_job.held_by is null then p_now + interval '0.2 seconds' else coalesce(j.due_at, p_now) end end
     where j.id = p_job.id;
    return null;
  elsif v_answer.held is not null then
    update holdfast.job j
       set held_by = v_answer.held, claim_order = null
     where j.id = p_job.id and (j.held_by is distinct from v_answer.held or j.claim_order is not null);
    return v_answer.held;
  end if;
  update holdfast.job j
     set held_by = null, claim_order = holdfast.place_in_line(coalesce(j.due_at, p_now), j.priority), ties = v_answer.ties
   where j.id = p_job.id;
  return '';
end $$;

--
-- Name: admit_rated(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.admit_rated(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_key text;
  v_queues text[] := '{}';
begin
  for v_key in
    select w.key from holdfast.rate_wait w where w.next_at <= v_now order by w.next_at limit 100 for update skip locked
  loop
    v_queues := v_queues || holdfast.admit_waiters('rate:' || v_key, p_limit - cardinality(v_queues));
    -- Parked again they have written the next time; otherwise nobody waits any more, or all who do come another time.
    if not exists (select from holdfast.job j where j.held_by collate "C" = 'rate:' || v_key and j.held_by is not null) then
      delete from holdfast.rate_wait w where w.key = v_key;
    else
      update holdfast.rate_wait w set next_at = v_now + interval '20 milliseconds' where w.key = v_key and w.next_at <= v_now;
    end if;
    exit when cardinality(v_queues) >= p_limit;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues);
end $$;

--
-- Name: admit_waiters(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.admit_waiters(p_held text, p_many integer) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_job holdfast.job;
  v_answer text;
  v_queues text[] := '{}';
  v_in int := 0;
begin
  for v_try in 1..p_many + 100 loop   -- some of them go from this parking place to another
    select * into v_job
      from holdfast.job j
     where j.held_by collate "C" = p_held and j.held_by is not null and j.claim_order is null
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit 1
       for no key update skip locked;
    exit when not found;
    v_answer := holdfast.admit_one(v_job, v_now);
    exit when v_answer = p_held;
    if v_answer is null or v_answer = '' then
      v_queues := v_queues || v_job.queue::text;
      v_in := v_in + 1;
    end if;
    exit when v_in >= p_many;
  end loop;
  return v_queues;
end $$;

--
-- Name: apply_retention(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.apply_retention(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_task record;
  v_ids uuid[];
  v_count bigint := 0;
begin
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  for v_task in select t.name, holdfast.clock() - t.retention as cutoff from holdfast.task t where t.retention is not null order by t.name loop
    select array_agg(old.id) into v_ids
      from (select j.id
              from holdfast.job j
             where j.task = v_task.name and j.status <> 'RUNNING'
               and j.id < holdfast.uuid_at(v_task.cutoff)   -- older than it finished: the index narrows it down
               and j.finished_at < v_task.cutoff
               and not exists (select from holdfast.job newer where newer.retry_of = j.id and newer.finished_at is null)
             order by j.id
             limit p_limit - v_count
               for update skip locked) as old;
    if v_ids is not null then
      delete from holdfast.attempt a where a.job_id = any (v_ids);
      delete from holdfast.job_history h where h.job_id = any (v_ids);
      delete from holdfast.job j where j.id = any (v_ids);
      v_count := v_count + cardinality(v_ids);
    end if;
    exit when v_count >= p_limit;
  end loop;
  perform set_config('holdfast.retention', '', true);
  return v_count;
end $$;

--
-- Name: are_strings(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.are_strings(p_list jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (jsonb_typeof(p_list) = 'array'::text) THEN (NOT (EXISTS (SELECT FROM jsonb_array_elements(are_strings.p_list) e(value) WHERE (jsonb_typeof(e.value) <> 'string'::text)))) ELSE false END;

--
-- Name: await_rate(text, interval, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.await_rate(p_key text, p_period interval, p_now timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.rate_wait as w (key, next_at)
  select p_key,
         least((select min(r.used_at) + p_period from holdfast.rate_slot r where r.key = p_key and r.used_at > p_now - p_period),
               case when exists (select from holdfast.rate_slot r where r.key = p_key and r.used_at is null)
                    then p_now + greatest(least(p_period / 4, interval '1 second'), interval '20 milliseconds') end,
               p_now + p_period)
  on conflict (key) do update set next_at = excluded.next_at where w.next_at is distinct from excluded.next_at
$$;

--
-- Name: bad_input(bigint, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bad_input(p_position bigint, p_problem text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'job %: %', p_position, p_problem using errcode = 'HF005', hint = 'Nothing was enqueued.';
end $$;

--
-- Name: beat(uuid, uuid[], uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.beat(p_worker uuid, p_ids uuid[], p_claim_ids uuid[], OUT alive boolean, OUT lost uuid[]) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
  update holdfast.worker w
     set seen_at = holdfast.clock()
   where w.id = p_worker and w.died_at is null;
  alive := found;
  select coalesce(array_agg(mine.id), '{}') into lost
    from unnest(p_ids, p_claim_ids) as mine (id, claim_id)
   where (select j.claim_id = mine.claim_id and j.status = 'RUNNING' from holdfast.job j where j.id = mine.id) is not true;
end $$;

--
-- Name: broken_rule(holdfast.job_status, uuid, timestamp with time zone, timestamp with time zone, text, timestamp with time zone, timestamp with time zone, uuid, jsonb, jsonb, integer, integer, text, text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((p_status = 'RUNNING'::holdfast.job_status) <> (p_holder IS NOT NULL)) THEN 'a job has a holder exactly while it is RUNNING'::text WHEN ((p_status = ANY (ARRAY['RUNNING'::holdfast.job_status, 'COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) AND ((p_claim_order IS NOT NULL) OR (p_due_at IS NOT NULL) OR (p_held_by IS NOT NULL))) THEN 'a job that runs or has ended is not in line, not due and not held back'::text WHEN ((p_status = 'RETRY'::holdfast.job_status) AND (p_due_at IS NULL)) THEN 'RETRY needs a time: due_at'::text WHEN ((p_status = 'PENDING'::holdfast.job_status) AND (p_claim_order IS NULL) AND (p_due_at IS NULL) AND (p_held_by IS NULL)) THEN 'a PENDING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'::text WHEN ((p_status = 'WAITING'::holdfast.job_status) AND (p_claim_order IS NULL) AND (p_due_at IS NULL) AND (p_held_by IS NULL)) THEN 'a WAITING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'::text WHEN ((p_status = 'WAITING_FOR_APPROVAL'::holdfast.job_status) AND (p_due_at IS NOT NULL)) THEN 'a job that waits for a person is not due'::text WHEN ((p_deadline_at IS NOT NULL) AND (p_status <> 'RUNNING'::holdfast.job_status)) THEN 'only a RUNNING job has a deadline'::text WHEN ((p_status = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) <> (p_finished_at IS NOT NULL)) THEN 'a job has finished_at exactly when it has ended'::text WHEN ((p_status = 'WAITING_FOR_APPROVAL'::holdfast.job_status) <> (p_approval_id IS NOT NULL)) THEN 'a job has an approval exactly while it is WAITING_FOR_APPROVAL'::text WHEN ((p_status = 'FAILED'::holdfast.job_status) AND (p_error IS NULL)) THEN 'FAILED needs an error'::text WHEN (jsonb_typeof(p_error) <> 'object'::text) THEN 'an error is a JSON object'::text WHEN ((p_result IS NOT NULL) AND (p_status <> 'COMPLETED'::holdfast.job_status)) THEN 'only a COMPLETED job has a result'::text WHEN ((p_retry_count < 0) OR (p_retry_count > p_max_retries)) THEN 'retry_count stays between 0 and max_retries'::text WHEN (((p_key IS NULL) <> (p_key_scope IS NULL)) OR ((p_key IS NULL) AND p_key_held)) THEN 'a key has a scope, and only a key can be held'::text ELSE NULL::text END;

--
-- Name: cancel(uuid, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.cancel(p_id uuid, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS holdfast.job_status
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  if v_job.status = 'CANCELLED' then
    return v_job.status;
  end if;
  if holdfast.is_terminal(v_job.status) then
    raise exception 'job % is % and cannot be cancelled any more', p_id, v_job.status using errcode = 'HF001';
  end if;
  perform set_config('holdfast.actor', coalesce(p_actor, ''), true);
  update holdfast.job j
     set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null, holder = null, deadline_at = null,
         approval_id = null, suspect = false, reason = coalesce(p_reason, 'cancelled')
   where j.id = p_id;
  if v_job.status = 'RUNNING' then
    perform pg_notify('holdfast_cancel', p_id::text);
  end if;
  perform set_config('holdfast.actor', '', true);   -- what follows in the caller's transaction is not this actor's doing
  return 'CANCELLED';
end $$;

--
-- Name: claim(uuid, uuid, text, text[], integer, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone DEFAULT '-infinity'::timestamp with time zone) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_now timestamptz;
  -- What came into the line before its queue had a limit holds no slot yet.
  v_needs_slots boolean := exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null);
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  if holdfast.queue_is_paused(p_queue) or cardinality(p_tasks) = 0 then
    return;
  end if;
  perform holdfast.act_as_worker(p_worker);
  v_now := holdfast.clock();
  return query
  with taken as materialized (
    select j.id, j.claim_order
      from holdfast.job j
     where j.queue = p_queue and j.claim_order >= p_after and not j.suspect and j.task = any (p_tasks)
       and (not v_needs_slots or holdfast.has_slot(j.id, 'queue:' || p_queue))
     order by j.claim_order, j.id
     limit p_limit
       for no key update skip locked)
  update holdfast.job j
     set status = 'RUNNING', came_from = j.status, seq = j.seq + 1, attempt = j.attempt + 1, updated_at = v_now,
         claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
         deadline_at = v_now + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity'   -- again, and opaque: the planner must not drive the join from the line
  returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
            extract(epoch from j.timeout)::float8,
            holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata);
end $$;

--
-- Name: claim_suspect(uuid, uuid, text[], text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[]) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  perform holdfast.act_as_worker(p_worker);
  with taken as materialized (
    select j.id
      from holdfast.job j
     where j.queue = any (p_queues) and j.claim_order is not null and j.suspect and j.task = any (p_tasks)
       and not holdfast.queue_is_paused(j.queue)
     order by j.claim_order, j.id
     limit 1
       for no key update skip locked)
  update holdfast.job j
     set status = 'RUNNING', claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id,
         reason = 'alone: its last worker died with it', deadline_at = holdfast.clock() + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity';
  return query select * from holdfast.recover_claim(p_worker, p_claim_id);
end $$;

--
-- Name: clear_closed(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.clear_closed(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_closed text[];
  v_job holdfast.job;
  v_held text;
  v_count bigint := 0;
begin
  if not exists (select from holdfast.task t where t.paused_at is not null)
     and not exists (select from holdfast.flag f where not f.enabled or f.percent < 100) then
    return 0;
  end if;
  v_closed := array(select t.name::text from holdfast.task t
                     where holdfast.task_is_paused(t) or (t.options ? 'flag' and holdfast.flag_share(t.options ->> 'flag') < 100));
  for v_job in
    select h.*
      from holdfast.queue q
      cross join lateral (
        select j.*
          from holdfast.job j
         where j.queue = q.name and j.claim_order is not null and not j.suspect
         limit 10000) as h
     where h.task = any (v_closed)
     limit p_limit
  loop
    perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;
    v_held := holdfast.closed_by(v_job);
    if v_held is not null then
      perform holdfast.leave_line(v_job, v_held);
      v_count := v_count + 1;
    end if;
  end loop;
  return v_count;
end $$;

--
-- Name: clear_line(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.clear_line(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_gated text[] := array(select t.name::text from holdfast.task t where t.options ?| array['limits', 'rates', 'flag']);
  v_limited text[] := array(select q.name::text from holdfast.queue q where q.job_limit is not null);
  v_job holdfast.job;
  v_queue text;
  v_count bigint := holdfast.clear_closed(p_limit);
begin
  if cardinality(v_gated) + cardinality(v_limited) = 0 then
    return v_count;
  end if;
  for v_job in
    select h.*
      from holdfast.queue q
      cross join lateral (
        select j.*
          from holdfast.job j
         where j.queue = q.name and j.claim_order is not null and not j.suspect
         limit 10000) as h
     where (h.ties & 1 = 0 and h.task = any (v_gated))
        or (h.queue = any (v_limited) and not holdfast.has_slot(h.id, 'queue:' || h.queue))
     limit p_limit
  loop
    perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;
    perform holdfast.leave_line(v_job, null);
    v_count := v_count + 1;
  end loop;
  foreach v_queue in array v_limited loop
    perform holdfast.count_running(v_queue);
  end loop;
  return v_count;
end $$;

--
-- Name: closed_by(holdfast.job); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.closed_by(p_job holdfast.job) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_task holdfast.task;
  v_share int;
begin
  select * into v_task from holdfast.task t where t.name = p_job.task;
  if holdfast.task_is_paused(v_task) then
    return 'task:' || v_task.name;
  end if;
  if v_task.options ? 'flag' then
    v_share := holdfast.flag_share(v_task.options ->> 'flag');
    if v_share < 100
       and holdfast.rollout_position(coalesce(p_job.payload ->> (v_task.options ->> 'rollout_by'), p_job.id::text)) >= v_share then
      return 'flag:' || (v_task.options ->> 'flag') || ':' || v_share;
    end if;
  end if;
  return null;
end $$;

--
-- Name: complete(uuid, uuid[], integer[], uuid[], text[], text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[] DEFAULT NULL::text[]) RETURNS TABLE(id uuid, status holdfast.job_status)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_done bigint;
  v_name text;
  v_now timestamptz := holdfast.clock();
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  perform set_config('holdfast.actor', coalesce(v_name, p_worker::text), true);
  -- Nested loops only, from the sorted outcomes: rows are locked in the order of their ids, as everywhere, so that two
  -- finishers with common jobs wait for each other and do not deadlock.
  update holdfast.job j
     set status = 'COMPLETED', came_from = 'RUNNING', seq = j.seq + 1, updated_at = v_now, finished_at = v_now,
         result = o.result::jsonb, holder = null, deadline_at = null, suspect = false
    from (select * from unnest(p_ids, p_attempts, p_claim_ids, p_results) as u (id, attempt, claim_id, result) order by u.id) as o
   where j.id = any (array[o.id])
     and j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id
     -- An attempt that handed its job over to an executor no longer speaks for it. Not "=": the planner would read all that the worker holds.
     and j.holder is not distinct from p_worker;
  get diagnostics v_done = row_count;
  if p_logs is not null then
    insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)
    select o.id, o.attempt, coalesce(v_name, p_worker::text), 'completed', o.logs::jsonb
      from unnest(p_ids, p_attempts, p_claim_ids, p_logs) as o (id, attempt, claim_id, logs)
     where o.logs is not null
       -- A subquery, not a join: no statistics can talk the planner into reading all COMPLETED jobs.
       and (select j.status = 'COMPLETED' and j.attempt = o.attempt and j.claim_id = o.claim_id from holdfast.job j where j.id = o.id)
    on conflict do nothing;
  end if;
  if v_done < cardinality(p_ids) then
    return query
      select o.id, j.status
        from unnest(p_ids, p_attempts, p_claim_ids) as o (id, attempt, claim_id)
        left join holdfast.job j on j.id = any (array[o.id])
       where (j.status, j.attempt, j.claim_id) is distinct from ('COMPLETED', o.attempt, o.claim_id);
  end if;
end $$;

--
-- Name: complete_here(uuid, integer, uuid, jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_name text := holdfast.holder_name(v_job.holder);
  v_actor text := current_setting('holdfast.actor', true);
begin
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'COMPLETED', result = p_result, holder = null, deadline_at = null, suspect = false
   where j.id = p_job;
  if p_logs is not null then
    insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)
    values (p_job, p_attempt, v_name, 'completed', p_logs)
    on conflict do nothing;
  end if;
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);   -- what follows in the caller's transaction is not ours
end $$;

--
-- Name: count_running(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.count_running(p_queue text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_ids uuid[];
begin
  select array_agg(r.id::uuid) into v_ids
    from (select j.id
            from holdfast.job j
           where j.holder is not null and j.queue = p_queue and not holdfast.has_slot(j.id, 'queue:' || p_queue)
             for no key update skip locked) as r;
  if v_ids is null then
    return;
  end if;
  -- Waited for with jobs in hand: whoever holds it waits for no job.
  perform pg_advisory_xact_lock(hashtextextended('holdfast:limit:queue:' || p_queue, 0));
  insert into holdfast.slot as s (job_id, key, n)
  select u.id, 'queue:' || p_queue, u.nth + coalesce((select max(o.n) from holdfast.slot o where o.key = 'queue:' || p_queue), 0)
    from unnest(v_ids) with ordinality as u (id, nth)
  on conflict (job_id, key) do update set n = excluded.n;
  update holdfast.job j set ties = j.ties | 5 where j.id = any (v_ids);
end $$;

--
-- Name: declare_tasks(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.declare_tasks(p_tasks jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
declare
  v_missing jsonb;
begin
  if p_tasks @? '$[*].flag_is_on' then
    perform holdfast.flags_from_environment(p_tasks);
  end if;
  select jsonb_agg(d) into v_missing
    from jsonb_array_elements(p_tasks) as d
   where not exists (select from holdfast.task t where t.name = d ->> 'name');
  if v_missing is not null then
    perform holdfast.insert_queues(v_missing);
    insert into holdfast.task (name, queue, priority, max_retries, crash_cap, timeout, retention, unique_by, key_scope,
                               manual_retries, manual_retries_per, options)
    select d.name, d.queue, d.priority, d.max_retries, d.crash_cap, d.timeout, d.retention, d.unique_by, d.key_scope,
           d.manual_retries, d.manual_retries_per, d.options
      from holdfast.definitions(v_missing) as d
     order by d.name
    on conflict (name) do nothing;
  end if;
end $_$;

--
-- Name: definitions(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.definitions(p_tasks jsonb) RETURNS TABLE(name text, queue text, priority smallint, max_retries smallint, crash_cap smallint, timeout interval, retention interval, unique_by jsonb, key_scope text, manual_retries smallint, manual_retries_per text, options jsonb)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.name,
     COALESCE(t.queue, 'default'::text) AS "coalesce",
     COALESCE(t.priority, (0)::smallint) AS "coalesce",
     COALESCE(t.max_retries, (3)::smallint) AS "coalesce",
     COALESCE(t.crash_cap, (3)::smallint) AS "coalesce",
     make_interval(secs => t.timeout) AS make_interval,
     make_interval(secs => t.retention) AS make_interval,
     t.unique_by,
     COALESCE(t.key_scope, 'active'::text) AS "coalesce",
     COALESCE(t.manual_retries, (3)::smallint) AS "coalesce",
     COALESCE(t.manual_retries_per, 'job'::text) AS "coalesce",
     COALESCE(t.options, '{}'::jsonb) AS "coalesce"
    FROM jsonb_to_recordset(definitions.p_tasks) t(name text, queue text, priority smallint, max_retries smallint, crash_cap smallint, timeout double precision, retention double precision, unique_by jsonb, key_scope text, manual_retries smallint, manual_retries_per text, options jsonb);
END;

--
-- Name: drop_empty_history_partitions(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.drop_empty_history_partitions() RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $_$
declare
  v_name text;
  v_empty boolean;
  v_dropped bigint := 0;
begin
  for v_name in
    select c.relname from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = 'holdfast.job_history'::regclass
       and c.relname ~ '^job_history_\d{6}$'
       and c.relname < 'job_history_' || to_char((holdfast.clock() - interval '1 month') at time zone 'UTC', 'YYYYMM')
  loop
    begin
      execute format('select not exists (select from holdfast.%I)', v_name) into v_empty;
      if v_empty then
        -- The table before its partition, as every writer locks them, and looked at again: a job of that month may have moved.
        lock table only holdfast.job_history in access exclusive mode;
        execute format('lock table holdfast.%I in access exclusive mode', v_name);
        execute format('select not exists (select from holdfast.%I)', v_name) into v_empty;
        if v_empty then
          execute format('drop table holdfast.%I', v_name);
          v_dropped := v_dropped + 1;
        end if;
      end if;
    exception when lock_not_available then
      raise warning 'history partition % not dropped: it is busy; the next upkeep tries again', v_name;
      return v_dropped;
    end;
  end loop;
  return v_dropped;
end $_$;

--
-- Name: due_of(timestamp with time zone, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.due_of(p_claim_order timestamp with time zone, p_priority integer) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (p_claim_order + ((p_priority)::double precision * '00:00:36'::interval));

--
-- Name: end_overdue(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_overdue(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_count bigint;
begin
  -- Found by having a holder, and put in order afterwards: with both at once the planner may read all jobs in order instead.
  with found as materialized (
    select j.id
      from holdfast.job j
     where j.holder is not null and j.deadline_at < v_now
     limit p_limit),
  overdue as materialized (
    select f.id, j.claim_id, w.name as worker
      from (select * from found order by found.id) as f
      cross join lateral (
        select j.claim_id, j.holder
          from holdfast.job j
         where j.id = f.id and j.deadline_at < v_now
           for no key update skip locked) as j
      left join holdfast.worker w on w.id = j.holder),
  ended as (
    update holdfast.job j
       set status = case when j.retry_count < j.max_retries then 'RETRY' else 'FAILED' end::holdfast.job_status,
           holder = null,
           deadline_at = null,
           suspect = false,
           retry_count = j.retry_count + (j.retry_count < j.max_retries)::int,
           due_at = case when j.retry_count < j.max_retries then v_now + least(interval '5 minutes', interval '1 second' * 2 ^ least(j.retry_count, 9)) end,
           error = jsonb_build_object('type', 'DeadlinePassed', 'kind', 'timeout', 'recoverable', true,
                     'message', format('attempt %s did not end within its timeout of %s', j.attempt, j.timeout)),
           reason = 'deadline passed'
      from overdue o
     where j.id = any (array[o.id::uuid]) and j.status = 'RUNNING' and j.claim_id = o.claim_id and j.deadline_at < v_now
    returning j.id, j.attempt, j.error, o.worker),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error)
    select e.id, e.attempt, coalesce(e.worker, '?'), 'failed', e.error from ended e
    on conflict do nothing),
  told as (
    select pg_notify('holdfast_cancel', e.id::text) from ended e)
  select count(*) into v_count from told;
  return v_count;
end $$;

--
-- Name: enqueue(text, jsonb, text, integer, timestamp with time zone, interval, text, text, text, text, text, jsonb, text, jsonb, text, uuid, text, integer, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enqueue(p_task text, p_payload jsonb DEFAULT '{}'::jsonb, p_queue text DEFAULT NULL::text, p_priority integer DEFAULT NULL::integer, p_run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_run_in interval DEFAULT NULL::interval, p_key text DEFAULT NULL::text, p_key_scope text DEFAULT NULL::text, p_on_conflict text DEFAULT NULL::text, p_tenant text DEFAULT NULL::text, p_subject text DEFAULT NULL::text, p_tags jsonb DEFAULT NULL::jsonb, p_label text DEFAULT NULL::text, p_metadata jsonb DEFAULT NULL::jsonb, p_requested_by text DEFAULT NULL::text, p_id uuid DEFAULT NULL::uuid, p_trace_parent text DEFAULT NULL::text, p_max_retries integer DEFAULT NULL::integer, p_timeout interval DEFAULT NULL::interval) RETURNS uuid
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select job_id
    from holdfast.enqueue_many(jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'id', p_id, 'task', p_task, 'queue', p_queue, 'priority', p_priority, 'run_at', p_run_at,
      'run_in', extract(epoch from p_run_in), 'key', p_key, 'key_scope', p_key_scope, 'on_conflict', p_on_conflict,
      'tenant', p_tenant, 'subject', p_subject, 'label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent,
      'max_retries', p_max_retries, 'timeout', extract(epoch from p_timeout)))
      -- Not stripped: a null inside a payload is the payload's own.
      || jsonb_build_object('payload', p_payload, 'tags', p_tags, 'metadata', p_metadata)))
$$;

--
-- Name: enqueue_many(jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb DEFAULT NULL::jsonb) RETURNS TABLE(nth bigint, job_id uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
declare
  v_now timestamptz := holdfast.clock();
  v_jobs jsonb := p_jobs;
  v_many int;
  v_careful boolean;
  v_born bigint;
  v_wakes text[];
  v_gated uuid[];
  v_flows boolean;
  v_made jsonb;
begin
  if jsonb_typeof(p_jobs) is distinct from 'array' then
    raise exception 'enqueue_many takes an array of jobs, not %', coalesce(jsonb_typeof(p_jobs), 'null') using errcode = 'HF005';
  end if;
  if p_declared is not null then
    perform holdfast.declare_tasks(p_declared);
  end if;
  if p_jobs @? '$[*] ? (!exists(@.id))' then
    v_jobs := holdfast.with_ids(p_jobs);
  end if;
  v_many := jsonb_array_length(v_jobs);

  -- A careful insert leaves out what conflicts, and costs half as much again: a few jobs are quicker inserted so than
  -- looked up first, many are not.
  v_careful := v_many <= 5 or holdfast.might_conflict(v_jobs);
  if not v_careful then
    begin
      with born as (
        insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, priority, max_retries, ties, task, queue, tenant,
               subject, parent_id, label, requested_by, trace_parent, timeout, tags, metadata, payload)
        select w.id, v_now, v_now,
               case when w.run_at > v_now or w.ties > 0 or w.needs_jobs then null else holdfast.place_in_line(v_now, w.priority) end,
               case when w.needs_jobs then null when w.run_at > v_now then w.run_at when w.ties > 0 then v_now end,
               case when w.needs_jobs then 'jobs' end, w.priority, w.max_retries, w.ties, w.task, w.queue, w.tenant,
               w.subject, w.parent_id, w.label, w.requested_by, w.trace_parent, w.timeout, w.tags, w.metadata, w.payload
          from holdfast.wanted(v_jobs, v_now) as w
        returning case when job.claim_order is not null or job.due_at = v_now then job.queue end::text as wakes,
                  case when job.ties > 0 then job.id end::uuid as gated, job.held_by is not null as waits)
      select count(*), array_agg(distinct born.wakes), array_agg(born.gated) filter (where born.gated is not null), bool_or(born.waits)
        into v_born, v_wakes, v_gated, v_flows
        from born;
    exception when unique_violation then
      v_careful := true;   -- an id is in it twice, or in a transaction that commits at this moment: the answer to it was lost
    end;
  end if;
  if v_careful then
    with born as (
      insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, priority, max_retries, ties, key_held, task, queue, tenant,
             subject, parent_id, key, key_scope, label, requested_by, trace_parent, timeout, tags, metadata, payload)
      select w.id, v_now, v_now,
             case when w.run_at > v_now or w.ties > 0 or w.needs_jobs then null else holdfast.place_in_line(v_now, w.priority) end,
             case when w.needs_jobs then null when w.run_at > v_now then w.run_at when w.ties > 0 then v_now end,
             case when w.needs_jobs then 'jobs' end, w.priority, w.max_retries, w.ties, w.key is not null, w.task, w.queue, w.tenant,
             w.subject, w.parent_id, w.key, case when w.key is not null then w.key_scope end, w.label, w.requested_by, w.trace_parent, w.timeout,
             w.tags, w.metadata, w.payload
        from holdfast.wanted(v_jobs, v_now) as w
       order by w.tenant, w.task, w.key, w.nth   -- one order for all: two batches with common keys must not deadlock
          on conflict do nothing
      returning case when job.claim_order is not null or job.due_at = v_now then job.queue end::text as wakes,
                case when job.ties > 0 then job.id end::uuid as gated, job.held_by is not null as waits)
    select count(*), array_agg(distinct born.wakes), array_agg(born.gated) filter (where born.gated is not null), bool_or(born.waits)
      into v_born, v_wakes, v_gated, v_flows
      from born;
  end if;
  if v_gated is not null then
    perform holdfast.join_limits(v_gated);
  end if;

  if exists (select from holdfast.sleeper s where s.queue = any (v_wakes)) then
    perform holdfast.wake(v_wakes);
  end if;
  if v_born = v_many then
    if v_flows then
      perform holdfast.join_parents(v_jobs, '{}', v_now);
    end if;
    return query
      select w.nth, (w.one ->> 'id')::uuid, true
        from jsonb_array_elements(v_jobs) with ordinality as w (one, nth);
    return;
  end if;
  select jsonb_agg(jsonb_build_object('nth', w.nth, 'asked', w.one ->> 'id', 'job_id', s.job_id, 'created', s.created) order by w.nth) into v_made
    from (select e.nth, e.one
            from jsonb_array_elements(v_jobs) with ordinality as e (one, nth)
            join holdfast.task t on t.name = e.one ->> 'task'
           -- The order of the insert above: replacing locks the keys' holders.
           order by e.one ->> 'tenant', t.name, coalesce(e.one ->> 'key', holdfast.key_of(e.one -> 'payload', t.unique_by)), e.nth) as w
    cross join lateral holdfast.settle_conflict((w.one ->> 'id')::uuid, w.one, v_now) as s;
  if v_flows then
    perform holdfast.join_parents(v_jobs, (select jsonb_object_agg(m ->> 'asked', m ->> 'job_id') from jsonb_array_elements(v_made) as m), v_now);
  end if;
  return query
    select m.nth, m.job_id, m.created from jsonb_to_recordset(v_made) as m (nth bigint, job_id uuid, created boolean) order by m.nth;
end $_$;

--
-- Name: ensure_history_partition(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.ensure_history_partition(p_month timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_name text := 'job_history_' || to_char(p_month at time zone 'UTC', 'YYYYMM');
  v_from uuid := holdfast.uuid_at(p_month);
  v_to uuid := holdfast.uuid_at(p_month + interval '1 month');
begin
  if to_regclass('holdfast.' || v_name) is not null then
    return false;
  end if;
  -- A default partition with rows of this month refuses the attach; they stay where they are and are found there.
  if exists (select from holdfast.job_history_rest r where r.job_id >= v_from and r.job_id < v_to) then
    return false;
  end if;
  execute format('create table holdfast.%I (like holdfast.job_history including all)', v_name);
  execute format('alter table holdfast.job_history attach partition holdfast.%I for values from (%L) to (%L)', v_name, v_from, v_to);
  perform holdfast.guard_history_partition(('holdfast.' || v_name)::regclass);
  return true;
end $$;

--
-- Name: ensure_history_partitions(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.ensure_history_partitions(p_months_ahead integer DEFAULT 3) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_month timestamptz;
  v_made bigint := 0;
begin
  for v_month in
    select generate_series(date_trunc('month', holdfast.clock()), date_trunc('month', holdfast.clock()) + make_interval(months => p_months_ahead), interval '1 month')
  loop
    begin
      v_made := v_made + holdfast.ensure_history_partition(v_month)::int;
    exception when lock_not_available then
      raise warning 'history partition of % not made: the table is busy; the next upkeep tries again', v_month;
    end;
  end loop;
  return v_made;
end $$;

--
-- Name: extras_of(text, text, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((COALESCE(p_label, p_requested_by, p_trace_parent, p_key) IS NOT NULL) OR (p_metadata IS NOT NULL)) THEN (jsonb_build_object('label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent, 'key', p_key, 'metadata', p_metadata))::text ELSE NULL::text END;

--
-- Name: fall_asleep(uuid, text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.fall_asleep(p_worker uuid, p_queues text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.sleeper (queue, worker_id)
  select q, w.id
    from unnest(p_queues) as q
    join holdfast.worker w on w.id = p_worker and w.died_at is null
   order by q
  on conflict do nothing
$$;

--
-- Name: filled_key(text, jsonb, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select case when length(k.key) <= 500 then k.key else left(k.key, 400) || ':' || md5(k.key) end
    from (select coalesce(string_agg(
                   case when part[1] not like '{%' then part[1]
                        else coalesce(p_payload ->> btrim(part[1], '{}'),
                                      case part[1] when '{tenant}' then p_tenant when '{subject}' then p_subject end, '')
                   end, '' order by nth), '') as key
            from regexp_matches(p_template, '\{[^{}]*\}|[^{}]+', 'g') with ordinality as m (part, nth)) as k
$$;

--
-- Name: flag_share(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.flag_share(p_flag text) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select coalesce((select case when f.enabled then f.percent else 0 end from holdfast.flag f where f.name = p_flag), 100)
$$;

--
-- Name: flags_from_environment(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.flags_from_environment(p_tasks jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.flag as f (name, enabled, set_by)
  select distinct on (d.options ->> 'flag') d.options ->> 'flag', d.flag_is_on, 'environment'
    from jsonb_to_recordset(p_tasks) as d (options jsonb, flag_is_on boolean)
    left join holdfast.flag old on old.name = d.options ->> 'flag'
   where d.flag_is_on is not null and d.options ? 'flag' and old.enabled is distinct from d.flag_is_on
   order by d.options ->> 'flag'
  on conflict (name) do update set enabled = excluded.enabled, set_by = excluded.set_by, reason = null, at = excluded.at
$$;

--
-- Name: follow_up(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.follow_up(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_ids uuid[] := p_ids;
begin
  -- Its own moves come through here again: the loop takes them in its next round, however long the chain is.
  if current_setting('holdfast.following', true) = 'on' then
    return;
  end if;
  perform set_config('holdfast.following', 'on', true);
  while v_ids is not null loop
    delete from holdfast.wait w
     where w.job_id = any (v_ids)
       and (select j.status in ('FAILED', 'CANCELLED') from holdfast.job j where j.id = w.job_id);
    perform holdfast.release_slots(v_ids);
    v_ids := holdfast.tell_followers(v_ids);
  end loop;
  perform set_config('holdfast.following', '', true);
end $$;

--
-- Name: free_rate_slot(text, integer, interval, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.free_rate_slot(p_key text, p_most integer, p_period interval, p_now timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_taken bigint;
  v_gap int;
  v_free int;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:rate:' || p_key, 0)) then
    return null;
  end if;
  -- A rate that was lowered a moment ago still has starts beyond its last place.
  if exists (select from holdfast.rate_slot r
              where r.key = p_key and r.n > p_most and (r.used_at is null or r.used_at > p_now - p_period)) then
    return 0;
  end if;
  select r.n into v_free
    from holdfast.rate_slot r
   where r.key = p_key and r.used_at <= p_now - p_period and r.n <= p_most
   order by r.used_at
   limit 1;
  if found then
    return v_free;
  end if;
  select count(*), min(r.nth) filter (where r.n <> r.nth) into v_taken, v_gap
    from (select f.n, row_number() over (order by f.n) as nth
            from (select r.n from holdfast.rate_slot r where r.key = p_key order by r.n limit p_most) as f) as r;
  return case when v_taken < p_most then coalesce(v_gap, v_taken + 1) else 0 end;
end $$;

--
-- Name: free_slot(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.free_slot(p_key text, p_most integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_taken bigint;
  v_gap int;
  v_kept bigint;
begin
  if not pg_try_advisory_xact_lock(hashtextextended('holdfast:limit:' || p_key, 0)) then
    return null;
  end if;
  select count(*), min(s.nth) filter (where s.n <> s.nth) into v_taken, v_gap
    from (select f.n, row_number() over (order by f.n) as nth
            from (select s.n from holdfast.slot s where s.key = p_key and s.n is not null order by s.n limit p_most) as f) as s;
  if v_taken < p_most then
    return coalesce(v_gap, v_taken + 1);
  end if;
  perform from holdfast.slot s
    where s.key = p_key and s.n is not null
    order by s.n
    limit p_most
      for key share skip locked;
  get diagnostics v_kept = row_count;
  return case when v_kept = p_most then 0 end;
end $$;

--
-- Name: guard_history_partition(regclass); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.guard_history_partition(p_partition regclass) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  execute format('create or replace trigger history_is_not_truncated before truncate on %s for each statement '
                 'execute function holdfast.refuse(%L)', p_partition, 'history is append-only: TRUNCATE is refused');
  execute format('alter table %s enable always trigger history_is_not_truncated', p_partition);
  execute format('create or replace trigger history_is_written_by_moves before insert on %s for each statement when (pg_trigger_depth() = 0) '
                 'execute function holdfast.refuse(%L)', p_partition, 'history is written by the moves themselves: INSERT is refused');
  execute format('alter table %s enable always trigger history_is_written_by_moves', p_partition);
  execute format('alter table %s enable always trigger history_is_append_only', p_partition);
  execute format('alter table %s enable always trigger history_is_kept', p_partition);
end $$;

--
-- Name: guard_move(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.guard_move() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if not holdfast.is_legal(old.status, new.status) then
    raise exception 'job % cannot move from % to %', old.id, old.status, new.status
      using errcode = 'HF001',
            hint = case when holdfast.is_terminal(old.status) then 'A terminal job stays as it is; retry it as a new job.'
                        else 'The legal moves are in holdfast.is_legal.' end;
  end if;
  new.seq := old.seq + 1;
  new.came_from := old.status;
  new.updated_at := greatest(holdfast.clock(), old.updated_at);
  new.key_held := old.key_held and new.key_held;   -- a key is given up or kept, never taken again
  if new.status = 'RUNNING' then
    if new.claim_id is null or new.claim_id is not distinct from old.claim_id then
      raise exception 'job % was claimed without a claim id of its own', old.id using errcode = 'HF001';
    end if;
    new.attempt := old.attempt + 1;
  else
    new.attempt := old.attempt;
    new.claim_id := old.claim_id;
  end if;
  if holdfast.is_terminal(new.status) then
    new.finished_at := new.updated_at;
    new.key_held := new.key_held and (new.key_scope = 'ever' or (new.key_scope = 'success' and new.status = 'COMPLETED'));
  else
    new.finished_at := null;
  end if;
  return new;
end $$;

--
-- Name: guard_removal(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.guard_removal() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if current_setting('holdfast.retention', true) is distinct from pg_current_xact_id()::text then
    raise exception '%', tg_argv[0] using errcode = 'HF003', hint = 'Set a retention on the task; holdfast.upkeep() removes what is older.';
  end if;
  if tg_table_name = 'job' then   -- a condition of its own: no other table's row has a status to look at
    if not holdfast.is_terminal(old.status) then
      raise exception 'job % is % and has not ended: retention is for terminal jobs', old.id, old.status using errcode = 'HF003';
    end if;
  end if;
  return old;
end $$;

--
-- Name: guard_stay(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.guard_stay() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if holdfast.is_terminal(old.status) then
    old.key_held := old.key_held and new.key_held;
    old.came_from := null;
    new.key_held := old.key_held;
    new.came_from := null;
    -- Compared byte by byte: 1.0 and 1.00 are equal JSON, and yet a rewritten result.
    if new *<> old then
      raise exception 'job % is % and never changes again', old.id, old.status using errcode = 'HF001';
    end if;
    return new;
  end if;
  new.came_from := null;
  if (new.attempt, new.seq, new.claim_id, new.retry_count, new.crash_count, new.finished_at)
     is distinct from (old.attempt, old.seq, old.claim_id, old.retry_count, old.crash_count, old.finished_at) then
    raise exception 'job %: attempt, seq, claim, counters and times change only with its status', old.id using errcode = 'HF001';
  end if;
  new.updated_at := greatest(holdfast.clock(), old.updated_at);
  new.key_held := old.key_held and new.key_held;
  return new;
end $$;

--
-- Name: has_slot(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.has_slot(p_job uuid, p_key text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.slot s where s.job_id = p_job and s.key = p_key and s.n is not null)
$$;

--
-- Name: heal(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.heal(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_held text;
  v_freed text[];
  v_queues text[] := '{}';
  v_reached text;
begin
  select h.reached into v_reached from holdfast.heal h for update skip locked;
  if not found then
    return 0;
  end if;
  with gone as (
    delete from holdfast.slot s
     where s.job_id in (select looked.job_id
                          from (select o.job_id from holdfast.slot o where o.key > v_reached order by o.key limit p_limit) as looked
                         where coalesce((select j.finished_at is not null from holdfast.job j where j.id = looked.job_id), true))
    returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from gone g;
  if v_freed is not null then
    perform holdfast.offer_slots(v_freed);
  end if;
  update holdfast.rate_slot r
     set used_at = coalesce((select j.updated_at from holdfast.job j where j.id = r.job_id and j.status = 'RUNNING'), '-infinity')
   where r.used_at is null
     and (select j.claim_order is not null from holdfast.job j where j.id = r.job_id) is not true;
  for v_try in 1..least(p_limit, 250) loop   -- each key costs an entry of the lock table
    select j.held_by into v_held
      from holdfast.job j
     where j.held_by collate "C" > 'limit:' || v_reached and j.held_by is not null
     order by j.held_by collate "C"
     limit 1;
    v_reached := case when found and v_held like 'limit:%' then substr(v_held, 7) else '' end;
    exit when v_reached = '';
    v_queues := v_queues || holdfast.admit_waiters(v_held, 100);
  end loop;
  insert into holdfast.rate_wait (key, next_at)
  select w.key, holdfast.clock()
    from (select distinct substr(p.held_by, 6) as key
            from (select j.held_by
                    from holdfast.job j
                   where j.held_by collate "C" >= 'rate:' and j.held_by collate "C" < 'rate;' and j.held_by is not null
                   order by j.held_by collate "C"
                   limit p_limit) as p) as w
   where not exists (select from holdfast.rate_wait r where r.key = w.key)
     and pg_try_advisory_xact_lock(hashtextextended('holdfast:rate:' || w.key, 0))   -- who writes it otherwise holds this
  on conflict (key) do nothing;
  update holdfast.heal h set reached = v_reached where h.reached <> v_reached;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues) + coalesce(cardinality(v_freed), 0);
end $$;

--
-- Name: hold_facts(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.hold_facts(p_job uuid, p_held text) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select case split_part(p_held, ':', 1)
    when 'limit' then (
      select jsonb_build_object('key', substr(p_held, 7), 'most', (select l.most from holdfast.limits_of(j) as l where l.key = substr(p_held, 7)),
               'taken', count(s.n), 'by', min(s.job_id::text) filter (where s.n = 1))
        from holdfast.slot s
       where s.key = substr(p_held, 7) and s.n is not null)
    when 'rate' then (
      select jsonb_build_object('key', substr(p_held, 6), 'next_in', extract(epoch from max(w.next_at) - holdfast.clock()))
        from holdfast.rate_wait w
       where w.key = substr(p_held, 6))
    when 'task' then (
      select jsonb_build_object('by', coalesce(t.paused_by, '?'), 'reason', t.pause_reason, 'ago', extract(epoch from holdfast.clock() - t.paused_at),
               'resumes_in', extract(epoch from t.resume_at - holdfast.clock()))
        from holdfast.task t
       where t.name = substr(p_held, 6) and t.paused_at is not null)
    when 'flag' then (
      select jsonb_build_object('flag', f.name, 'share', holdfast.flag_share(f.name), 'by', f.set_by, 'reason', f.reason)
        from holdfast.flag f
       where f.name = (select t.options ->> 'flag' from holdfast.task t where t.name = j.task))
    end
    from holdfast.job j
   where j.id = p_job
$$;

--
-- Name: hold_fence(uuid, integer, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.hold_fence(p_job uuid, p_attempt integer, p_claim_id uuid) RETURNS holdfast.job
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
begin
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  if (v_job.status = 'RUNNING' and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id) is not true then
    raise exception 'attempt % no longer owns job %: it is %', p_attempt, p_job, coalesce(v_job.status::text, 'gone')
      using errcode = 'HF011', detail = jsonb_build_object('job', p_job, 'attempt', p_attempt, 'status', v_job.status)::text;
  end if;
  return v_job;
end $$;

--
-- Name: holder_name(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.holder_name(p_holder uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select coalesce((select w.name from holdfast.worker w where w.id = p_holder), p_holder::text)
$$;

--
-- Name: insert_queues(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.insert_queues(p_tasks jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.queue (name)
  select distinct d.queue from holdfast.definitions(p_tasks) as d order by d.queue
  on conflict (name) do nothing
$$;

--
-- Name: is_gated(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_gated(p_task text, p_queue text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.task t where t.name = p_task and t.options ?| array['limits', 'rates', 'flag'])
      or exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null)
$$;

--
-- Name: is_legal(holdfast.job_status, holdfast.job_status); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE p_from WHEN 'PENDING'::holdfast.job_status THEN (p_to = ANY (ARRAY['RUNNING'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) WHEN 'RUNNING'::holdfast.job_status THEN (p_to = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'RETRY'::holdfast.job_status, 'WAITING_FOR_APPROVAL'::holdfast.job_status, 'WAITING'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) WHEN 'RETRY'::holdfast.job_status THEN (p_to = ANY (ARRAY['RUNNING'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) WHEN 'WAITING_FOR_APPROVAL'::holdfast.job_status THEN (p_to = ANY (ARRAY['RUNNING'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) WHEN 'WAITING'::holdfast.job_status THEN (p_to = ANY (ARRAY['RUNNING'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) ELSE false END;

--
-- Name: is_terminal(holdfast.job_status); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_terminal(p_status holdfast.job_status) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_status = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status]));

--
-- Name: job_outcome(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) RETURNS record
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select j.status, j.result::text, j.error::text from holdfast.job j where j.id = p_id
$$;

--
-- Name: join_limits(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.join_limits(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_limit record;
  v_many bigint;
  v_other uuid;
begin
  insert into holdfast.slot (job_id, key)
  select j.id, l.key
    from unnest(p_ids) as b (id)
    join holdfast.job j on j.id = any (array[b.id])
    cross join lateral holdfast.limits_of(j) as l
  on conflict do nothing;
  for v_limit in
    select j.id, j.task, l.key, l.most
      from unnest(p_ids) as b (id)
      join holdfast.job j on j.id = any (array[b.id])
      cross join lateral holdfast.limits_of(j) as l
     where l.policy = 'reject'
     order by l.key collate "C", j.id   -- one order for all
  loop
    -- A snapshot from before the wait would not show who came first.
    if current_setting('transaction_isolation') = 'repeatable read' then
      raise exception 'a limit with the policy reject cannot be kept in a REPEATABLE READ transaction'
        using errcode = 'HF005', hint = 'Enqueue task ' || v_limit.task || ' in a READ COMMITTED or SERIALIZABLE transaction. Nothing was enqueued.';
    end if;
    perform pg_advisory_xact_lock(hashtextextended('holdfast:reject:' || v_limit.key, 0));
    select count(*), (array_agg(o.job_id order by o.job_id = any (p_ids), o.n nulls last, o.job_id))[1] into v_many, v_other
      from (select s.job_id, s.n
              from holdfast.slot s
             where s.key = v_limit.key and s.job_id <> v_limit.id
             order by s.n
             limit v_limit.most) as o;
    if v_many >= v_limit.most then
      raise exception 'the limit of % (at most %) is reached: job % is in the way', v_limit.key, v_limit.most, v_other
        using errcode = 'HF012', detail = jsonb_build_object('job', v_other, 'key', v_limit.key)::text,
              hint = 'Wait for that job''s end, or cancel it. Nothing was enqueued.';
    end if;
  end loop;
end $$;

--
-- Name: join_parents(jsonb, jsonb, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.join_parents(p_jobs jsonb, p_made jsonb, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $_$
declare
  v_nths bigint[];
  v_jobs uuid[];
  v_needs uuid[];
  v_places int[];
  v_policies text[];
  v_open uuid[];
  v_wrong record;
  v_queues text[];
begin
  if p_jobs @? '$[*].after[*] ? (!(@ like_regex "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$"))' then
    raise exception 'after must be a list of job ids' using errcode = 'HF005', hint = 'Nothing was enqueued.';
  end if;
  select array_agg(n.nth), array_agg(n.job_id), array_agg(n.needs), array_agg(n.place), array_agg(n.policy)
    into v_nths, v_jobs, v_needs, v_places, v_policies
    from (select distinct on (c.id, r.needs) c.nth, c.id as job_id, r.needs, r.place::int, c.policy
            from (select e.nth, (e.one ->> 'id')::uuid as id, coalesce(e.one ->> 'on_parent_failure', 'cancel') as policy, e.one -> 'after' as after
                    from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
                   where e.one ? 'after') as c
            cross join lateral (select coalesce(p_made ->> a.id, a.id)::uuid as needs, a.place
                                  from jsonb_array_elements_text(c.after) with ordinality as a (id, place)) as r
           where (select j.held_by = 'jobs' from holdfast.job j where j.id = c.id)
             and not exists (select from holdfast.wait w where w.job_id = c.id)
           order by c.id, r.needs, r.place) as n;
  -- A job may need what stands before it in the call, never itself or what stands behind it: so no circle can close.
  with later as materialized (
    select (e.one ->> 'id')::uuid as id, e.nth from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)),
  first as materialized (
    select u.needs, min(u.nth) as nth from unnest(v_nths, v_needs) as u (nth, needs) group by u.needs)
  select f.nth, f.needs into v_wrong from first f join later l on l.id = f.needs where l.nth >= f.nth limit 1;
  if found then
    perform holdfast.bad_input(v_wrong.nth, format('it is to run after job %s, which is itself or comes later in the same call: a cycle', v_wrong.needs));
  end if;
  with parent as materialized (
    select p.id, p.status
      from (select distinct u.needs from unnest(v_needs) as u (needs) order by u.needs) as n
      join holdfast.job p on p.id = any (array[n.needs])
     order by p.id
       for no key update of p)
  select array_agg(p.id::uuid) filter (where not holdfast.is_terminal(p.status)) into v_open from parent p;
  select u.nth, u.needs, p.status into v_wrong
    from unnest(v_nths, v_needs, v_policies) as u (nth, needs, policy)
    left join holdfast.job p on p.id = any (array[u.needs])
   where p.id is null or (p.status in ('FAILED', 'CANCELLED') and u.policy = 'cancel')
   limit 1;
  if found then
    perform holdfast.bad_input(v_wrong.nth, case
      when v_wrong.status is null then format('it is to run after job %s, which does not exist', v_wrong.needs)
      else format('it is to run after job %s, which is %s: it would never start (on_parent_failure=run starts it anyway)', v_wrong.needs, v_wrong.status) end);
  end if;
  insert into holdfast.dependency (needs, job_id, position, policy)
  select u.needs, u.job_id, u.place, u.policy
    from unnest(v_needs, v_jobs, v_places, v_policies) as u (needs, job_id, place, policy);
  update holdfast.job p set ties = p.ties | 2 where p.id = any (v_open) and p.ties & 2 = 0;
  with child as (
    select u.job_id, count(o.id) as remaining
      from unnest(v_jobs, v_needs) as u (job_id, needs)
      left join unnest(v_open) as o (id) on o.id = u.needs
     group by u.job_id),
  told as (
    select c.job_id, c.remaining, w.run_at
      from child c
      join holdfast.wanted(p_jobs, p_now) as w on w.id = c.job_id),
  waiting as (
    insert into holdfast.wait (job_id, remaining, run_at)
    select t.job_id, t.remaining, t.run_at from told t where t.remaining > 0),
  ready as (
    update holdfast.job j
       set held_by = null,
           due_at = case when t.run_at > p_now then t.run_at when j.ties & 1 = 1 then p_now end,
           claim_order = case when j.ties & 1 = 0 and coalesce(t.run_at, p_now) <= p_now then holdfast.place_in_line(p_now, j.priority) end
      from told t
     where j.id = any (array[t.job_id]) and t.remaining = 0
    returning j.queue)
  select array_agg(distinct r.queue::text) into v_queues from ready r;
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
end $_$;

--
-- Name: key_of(jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.key_of(p_payload jsonb, p_fields jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ('payload:'::text || encode(sha256(convert_to((CASE WHEN (jsonb_array_length(p_fields) = 0) THEN p_payload ELSE (SELECT jsonb_object_agg(f.value, (key_of.p_payload -> f.value)) AS jsonb_object_agg FROM jsonb_array_elements_text(key_of.p_fields) f(value)) END)::text, 'UTF8'::name)), 'hex'::text));

--
-- Name: last_checkpoint(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.last_checkpoint(p_job uuid) RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select c.value::text from holdfast.checkpoint c where c.job_id = p_job
$$;

--
-- Name: leave_line(holdfast.job, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.leave_line(p_job holdfast.job, p_held text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_freed text[];
begin
  update holdfast.job j
     set claim_order = null, held_by = p_held, ties = j.ties | case when p_held is null then 1 else 0 end,
         due_at = case when j.status <> 'WAITING_FOR_APPROVAL' then coalesce(j.due_at, holdfast.due_of(j.claim_order, j.priority)) end
   where j.id = p_job.id;
  update holdfast.rate_slot r set used_at = '-infinity' where r.job_id = p_job.id and r.used_at is null;
  if p_job.status = 'PENDING' and p_job.ties & 4 > 0 then
    with given as (
      update holdfast.slot s set n = null where s.job_id = p_job.id and s.n is not null returning s.key)
    select array_agg(g.key) into v_freed from given g;
    if v_freed is not null then
      perform holdfast.offer_slots(v_freed);
    end if;
  end if;
end $$;

--
-- Name: let_out(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.let_out(p_held text, p_limit integer) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with parked as materialized (
    select j.id
      from holdfast.job j
     where j.held_by collate "C" = p_held and j.held_by is not null and j.claim_order is null and j.status <> 'WAITING_FOR_APPROVAL'
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit p_limit
       for no key update skip locked),
  out as (
    update holdfast.job j
       set held_by = null, due_at = coalesce(j.due_at, v_now)
      from parked p
     where j.id = any (array[p.id::uuid]) and j.held_by = p_held
    returning j.queue)
  select array_agg(o.queue::text) into v_queues from out o;
  return coalesce(v_queues, '{}');
end $$;

--
-- Name: limit_queue(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.limit_queue(p_queue text, p_most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_most not between 1 and 100000 then
    raise exception 'a queue can be limited to 1 to 100,000 jobs at once, not %', p_most
      using errcode = 'HF005', hint = 'To let nothing run, pause it: holdfast queue pause ' || p_queue;
  end if;
  insert into holdfast.queue as q (name, job_limit) values (p_queue, p_most)
  on conflict (name) do update set job_limit = excluded.job_limit;
  if p_most is not null then
    perform holdfast.count_running(p_queue);
    perform holdfast.clear_line(1000);
  end if;
  perform holdfast.open_again(100);
  perform holdfast.wake(array[p_queue]);
end $$;

--
-- Name: limits_of(holdfast.job); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.limits_of(p_job holdfast.job) RETURNS TABLE(key text, most integer, policy text, release_while_waiting boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select distinct on (l.key) l.key, l.most, l.policy, l.release_while_waiting
    from (select holdfast.filled_key(d.key, p_job.payload, p_job.tenant, p_job.subject) as key, d.max as most,
                 coalesce(d.policy, 'wait') as policy, coalesce(d.release_while_waiting, false) as release_while_waiting
            from holdfast.task t
            cross join lateral jsonb_to_recordset(t.options -> 'limits') as d (key text, max int, policy text, release_while_waiting boolean)
           where t.name = p_job.task
          union all
          select 'queue:' || q.name, q.job_limit, 'wait', false
            from holdfast.queue q
           where q.name = p_job.queue and q.job_limit is not null) as l
   order by l.key, l.most
$$;

--
-- Name: lock_job(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_job(p_id uuid) RETURNS holdfast.job
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
begin
  select * into v_job from holdfast.job j where j.id = p_id for no key update;
  if not found then
    raise exception 'no job has the id %', p_id using errcode = 'HF009';
  end if;
  return v_job;
end $$;

--
-- Name: might_conflict(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.might_conflict(p_jobs jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $_$
begin
  -- Subqueries that no planner can turn into a join: a plan made while the table was empty would read all of it for every job.
  return p_jobs @? '$[*].key'
      or exists (select from jsonb_to_recordset(p_jobs) as w (task text)
                  where (select t.unique_by from holdfast.task t where t.name = w.task) is not null)
      or exists (select from jsonb_to_recordset(p_jobs) as w (id uuid)
                  where (select j.id from holdfast.job j where j.id = w.id) is not null);
end $_$;

--
-- Name: note(uuid, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.note(p_job uuid, p_kind text, p_actor text, p_data jsonb) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.activity (job_id, at, xid, kind, actor, data)
  values (p_job, holdfast.clock(), pg_current_xact_id()::text::bigint, p_kind, coalesce(p_actor, holdfast.actor()), p_data)
$$;

--
-- Name: offer_slots(text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.offer_slots(p_keys text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_key record;
  v_queues text[] := '{}';
begin
  for v_key in
    select k.key, count(*)::int as free, row_number() over () as nth from unnest(p_keys) as k (key) group by k.key
  loop
    -- Each key costs an entry of the server's lock table: what is beyond a hundred goes through admission.
    if v_key.nth <= 100 then
      v_queues := v_queues || holdfast.admit_waiters('limit:' || v_key.key, v_key.free);
    else
      v_queues := v_queues || holdfast.let_out('limit:' || v_key.key, v_key.free);
    end if;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
end $$;

--
-- Name: open_again(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_again(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_held text;
  v_queues text[] := '{}';
begin
  -- In order, so that only one index will do: without it a plan made for an empty table would read all of a full one.
  perform from holdfast.job j where j.held_by is not null order by j.held_by collate "C" limit 1;
  if not found then
    return 0;
  end if;
  for v_held in
    select 'task:' || t.name from holdfast.task t where not holdfast.task_is_paused(t)
    union all
    select 'flag:' || f.name || ':' || share from holdfast.flag f, generate_series(0, 99) as share where share <> holdfast.flag_share(f.name)
    union all
    select 'limit:queue:' || q.name from holdfast.queue q
  loop
    continue when not exists (select from holdfast.job j where j.held_by collate "C" = v_held and j.held_by is not null);
    v_queues := v_queues || holdfast.admit_waiters(v_held, p_limit - cardinality(v_queues));
    exit when cardinality(v_queues) >= p_limit;
  end loop;
  if cardinality(v_queues) > 0 then
    perform holdfast.wake(v_queues);
  end if;
  return cardinality(v_queues);
end $$;

--
-- Name: open_tasks(text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_tasks(p_tasks text[]) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if not exists (select from holdfast.task t where t.paused_at is not null)
     and not exists (select from holdfast.flag f where not f.enabled) then
    return p_tasks;
  end if;
  return array(select n.name
                 from unnest(p_tasks) with ordinality as n (name, nth)
                 left join holdfast.task t on t.name = n.name
                where holdfast.task_is_paused(t) is not true
                  and not exists (select from holdfast.flag f where f.name = t.options ->> 'flag' and not f.enabled)
                order by n.nth);
end $$;

--
-- Name: parked_place(timestamp with time zone, timestamp with time zone, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.parked_place(p_due timestamp with time zone, p_created timestamp with time zone, p_priority integer) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (COALESCE(p_due, p_created) - ((p_priority)::double precision * '00:00:36'::interval));

--
-- Name: pass_gates(holdfast.job, timestamp with time zone, text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pass_gates(p_job holdfast.job, p_now timestamp with time zone, p_full text[], OUT held text, OUT busy boolean, OUT ties integer) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate record;
  v_n int;
  v_slots jsonb := '[]';
  v_starts jsonb := '[]';
begin
  ties := p_job.ties;
  busy := false;
  held := holdfast.closed_by(p_job);
  if held is not null then
    return;
  end if;
  for v_gate in
    select l.key, l.most
      from holdfast.limits_of(p_job) as l
     where not exists (select from holdfast.slot s where s.job_id = p_job.id and s.key = l.key and s.n is not null)
  loop
    v_n := case when v_gate.key = any (p_full) then 0 else holdfast.free_slot(v_gate.key, v_gate.most) end;
    busy := v_n is null;
    held := case when v_n = 0 then 'limit:' || v_gate.key end;
    if busy or held is not null then
      return;
    end if;
    v_slots := v_slots || jsonb_build_object('key', v_gate.key, 'n', v_n);
  end loop;
  for v_gate in select r.key, r.most, r.period from holdfast.rates_of(p_job) as r loop
    v_n := holdfast.free_rate_slot(v_gate.key, v_gate.most, v_gate.period, p_now);
    busy := v_n is null;
    if v_n = 0 then
      held := 'rate:' || v_gate.key;
      perform holdfast.await_rate(v_gate.key, v_gate.period, p_now);
    end if;
    if busy or held is not null then
      return;
    end if;
    v_starts := v_starts || jsonb_build_object('key', v_gate.key, 'n', v_n, 'period', v_gate.period);
  end loop;

  insert into holdfast.slot as s (job_id, key, n)
  select p_job.id, g.key, g.n from jsonb_to_recordset(v_slots) as g (key text, n int)
  on conflict (job_id, key) do update set n = excluded.n;
  insert into holdfast.rate_slot as r (key, n, job_id, period)
  select g.key, g.n, p_job.id, g.period from jsonb_to_recordset(v_starts) as g (key text, n int, period interval)
  on conflict (key, n) do update set job_id = excluded.job_id, used_at = null, period = excluded.period;
  ties := ties | case when v_slots = '[]' then 0 else 4 end | case when v_starts = '[]' then 0 else 8 end;
end $$;

--
-- Name: pause_queue(text, text, text, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pause_queue(p_queue text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_resume_in interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  insert into holdfast.queue (name, paused_at, paused_by, reason, resume_at)
  values (p_queue, holdfast.clock(), coalesce(p_actor, session_user), p_reason, holdfast.clock() + p_resume_in)
  on conflict (name) do update
     set paused_at = coalesce(queue.paused_at, excluded.paused_at), paused_by = excluded.paused_by,
         reason = excluded.reason, resume_at = excluded.resume_at;
end $$;

--
-- Name: pause_task(text, text, text, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pause_task(p_task text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_resume_in interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  update holdfast.task t
     set paused_at = coalesce(t.paused_at, holdfast.clock()), paused_by = coalesce(p_actor, session_user), pause_reason = p_reason,
         resume_at = holdfast.clock() + p_resume_in
   where t.name = p_task;
  if not found then
    raise exception 'no task is called %', quote_literal(p_task) using errcode = 'HF004', hint = 'holdfast task list shows them.';
  end if;
end $$;

--
-- Name: place_in_line(timestamp with time zone, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.place_in_line(p_due timestamp with time zone, p_priority integer) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (p_due - ((p_priority)::double precision * '00:00:36'::interval));

--
-- Name: queue; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.queue (
    name holdfast.name NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    reason text,
    resume_at timestamp with time zone,
    job_limit integer,
    CONSTRAINT queue_limit_is_positive CHECK ((job_limit > 0)),
    CONSTRAINT resume_needs_a_pause CHECK (((resume_at IS NULL) OR (paused_at IS NOT NULL)))
);

--
-- Name: queue_is_paused(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.queue_is_paused(p_queue text) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (EXISTS (SELECT FROM holdfast.queue q WHERE (((q.name)::text = queue_is_paused.p_queue) AND (q.paused_at IS NOT NULL) AND ((q.resume_at IS NULL) OR (q.resume_at > holdfast.clock())))));

--
-- Name: rates_of(holdfast.job); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.rates_of(p_job holdfast.job) RETURNS TABLE(key text, most integer, period interval)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select distinct on (r.key) r.key, r.most, r.period
    from (select holdfast.filled_key(d.key, p_job.payload, p_job.tenant, p_job.subject) as key, d.max as most,
                 make_interval(secs => d.per) as period
            from holdfast.task t
            cross join lateral jsonb_to_recordset(t.options -> 'rates') as d (key text, max int, per float8)
           where t.name = p_job.task) as r
   order by r.key, r.most
$$;

--
-- Name: record_births(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.record_births() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_xid bigint := pg_current_xact_id()::text::bigint;
  v_actor text := holdfast.actor();
  v_wrong uuid;
begin
  -- Here and not in a row trigger's condition, which PostgreSQL would prepare anew for every statement.
  select b.id into v_wrong
    from born b
   where b.status <> 'PENDING' or b.attempt <> 0 or b.seq <> 1 or b.retry_count <> 0 or b.crash_count <> 0 or b.suspect
      or b.claim_id is not null or b.came_from is not null
      or b.updated_at not between b.created_at and holdfast.clock()   -- two defaults read the clock twice
      or b.created_at not between holdfast.clock() - (clock_timestamp() - statement_timestamp()) and holdfast.clock()
   limit 1;
  if found then
    raise exception 'job % must be born PENDING, unclaimed and with the clock''s own times', v_wrong
      using errcode = 'HF001', hint = 'Leave status, attempt, seq, counters and times to their defaults, or call holdfast.enqueue.';
  end if;
  perform holdfast.refuse_rule(r.id, r.status, r.rule)
     from (select b.id, b.status, holdfast.broken_rule(b.status, b.holder, b.claim_order, b.due_at, b.held_by, b.deadline_at, b.finished_at,
         b.approval_id, b.error, b.result, b.retry_count, b.max_retries, b.key, b.key_scope, b.key_held) as rule from born b) as r
    where r.rule is not null;
  insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor, reason, metadata)
  select id, seq, null, status, attempt, updated_at, v_xid,
         case when retry_of is null then coalesce(requested_by, v_actor) else v_actor end,   -- who retries is not who asked first
         reason,
         case when retry_of is not null then jsonb_build_object('retry_of', retry_of) end
    from born;
  return null;
end $$;

--
-- Name: record_moves(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.record_moves() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_xid bigint := pg_current_xact_id()::text::bigint;
  v_actor text := holdfast.actor();
  v_tied uuid[];
begin
  perform holdfast.refuse_rule(r.id, r.status, r.rule)
     from (select m.id, m.status, holdfast.broken_rule(m.status, m.holder, m.claim_order, m.due_at, m.held_by, m.deadline_at, m.finished_at,
         m.approval_id, m.error, m.result, m.retry_count, m.max_retries, m.key, m.key_scope, m.key_held) as rule from moved m) as r
    where r.rule is not null;
  insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor, reason, metadata)
  select n.id, n.seq, n.came_from, n.status, n.attempt, n.updated_at, v_xid, v_actor, n.reason,
         case n.status
           when 'FAILED' then n.error - 'traceback'
           when 'RETRY' then jsonb_strip_nulls(jsonb_build_object(
             'retry_count', n.retry_count, 'crash_count', nullif(n.crash_count, 0), 'due_at', n.due_at,
             'error', n.error - 'traceback'))
         end
    from moved n
   where n.came_from is not null;
  select array_agg(m.id) into v_tied
    from moved m
   where m.came_from is not null and (m.ties > 0 or m.status in ('FAILED', 'CANCELLED'));
  if v_tied is not null then
    perform holdfast.follow_up(v_tied);
  end if;
  return null;
end $$;

--
-- Name: recover_claim(uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.recover_claim(p_worker uuid, p_claim_id uuid) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select j.id::uuid, j.task::text, j.payload::text, j.attempt, j.updated_at, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
         extract(epoch from j.timeout)::float8,
         holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata)
    from holdfast.job j
   where j.holder = p_worker and j.claim_id = p_claim_id and j.status = 'RUNNING'
$$;

--
-- Name: refuse(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.refuse() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception '%', tg_argv[0] using errcode = 'HF003';
end $$;

--
-- Name: refuse_rule(uuid, holdfast.job_status, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'job % cannot be % like this: %', p_job, p_status, p_rule using errcode = 'HF001';
end $$;

--
-- Name: register_tasks(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.register_tasks(p_tasks jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.flags_from_environment(p_tasks);
  perform holdfast.insert_queues(p_tasks);
  insert into holdfast.task as old (name, queue, priority, max_retries, crash_cap, timeout, retention, unique_by, key_scope,
                                    manual_retries, manual_retries_per, options)
  select d.name, d.queue, d.priority, d.max_retries, d.crash_cap, d.timeout, d.retention, d.unique_by, d.key_scope,
         d.manual_retries, d.manual_retries_per, d.options
    from holdfast.definitions(p_tasks) as d
   order by d.name
  on conflict (name) do update
     set queue = excluded.queue, priority = excluded.priority, max_retries = excluded.max_retries, crash_cap = excluded.crash_cap,
         timeout = excluded.timeout, retention = excluded.retention, unique_by = excluded.unique_by, key_scope = excluded.key_scope,
         manual_retries = excluded.manual_retries, manual_retries_per = excluded.manual_retries_per, options = excluded.options, registered_at = holdfast.clock()
   where (old.queue, old.priority, old.max_retries, old.crash_cap, old.timeout, old.retention, old.unique_by, old.key_scope,
          old.manual_retries, old.manual_retries_per, old.options)
         is distinct from
         (excluded.queue, excluded.priority, excluded.max_retries, excluded.crash_cap, excluded.timeout, excluded.retention,
          excluded.unique_by, excluded.key_scope, excluded.manual_retries, excluded.manual_retries_per, excluded.options);
end $$;

--
-- Name: register_worker(uuid, text, text, integer, text, jsonb, text[], interval, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.register_worker(p_id uuid, p_name text, p_host text, p_pid integer, p_version text, p_queues jsonb, p_tasks text[], p_lease interval, p_its_clock timestamp with time zone) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.worker (id, name, host, pid, version, queues, tasks, lease, clock_skew)
  values (p_id, p_name, p_host, p_pid, p_version, p_queues, p_tasks, p_lease, p_its_clock - clock_timestamp())
  on conflict (id) do nothing
$$;

--
-- Name: release_slots(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.release_slots(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_freed text[];
  v_given text[];
begin
  -- Subqueries throughout, not joins: no plan made for an empty table may begin with all jobs.
  update holdfast.rate_slot r
     set used_at = (select case when j.status = 'RUNNING' then j.updated_at else '-infinity' end from holdfast.job j where j.id = r.job_id)
   where r.job_id = any (p_ids) and r.used_at is null
     and (select j.claim_order is null from holdfast.job j where j.id = r.job_id);
  with gone as (
    delete from holdfast.slot s
     where s.job_id = any (p_ids) and (select j.finished_at is not null from holdfast.job j where j.id = s.job_id)
    returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from gone g;
  with given as (
    update holdfast.slot s
       set n = null
     where s.job_id = any (p_ids) and s.n is not null
       and (select bool_or(l.release_while_waiting)
              from holdfast.job j
              cross join lateral holdfast.limits_of(j) as l
             where j.id = s.job_id and j.status in ('RETRY', 'WAITING', 'WAITING_FOR_APPROVAL') and l.key = s.key)
    returning s.key)
  select array_agg(g.key) into v_given from given g;
  if v_freed is not null or v_given is not null then
    perform holdfast.offer_slots(coalesce(v_freed, '{}') || coalesce(v_given, '{}'));
  end if;
end $$;

--
-- Name: report_progress(uuid, integer, uuid, double precision, double precision, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  insert into holdfast.progress as p (job_id, attempt, at, done, total, note)
  values (p_job, p_attempt, holdfast.clock(), p_done, p_total, p_note)
  on conflict (job_id) do update
     set attempt = excluded.attempt, at = excluded.at, done = excluded.done, total = excluded.total, note = excluded.note;
  perform holdfast.note(p_job, 'progress', null, jsonb_build_object('done', p_done, 'total', p_total, 'note', p_note));
end $$;

--
-- Name: resume_queue(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.resume_queue(p_queue text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_was_paused boolean;
begin
  select q.paused_at is not null into v_was_paused from holdfast.queue q where q.name = p_queue for update;
  update holdfast.queue q
     set paused_at = null, paused_by = null, reason = null, resume_at = null
   where q.name = p_queue;
  perform holdfast.wake(array[p_queue]);
  return coalesce(v_was_paused, false);
end $$;

--
-- Name: resume_task(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.resume_task(p_task text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_was_paused boolean;
begin
  select t.paused_at is not null into v_was_paused from holdfast.task t where t.name = p_task for no key update;
  if not found then
    raise exception 'no task is called %', quote_literal(p_task) using errcode = 'HF004', hint = 'holdfast task list shows them.';
  end if;
  update holdfast.task t
     set paused_at = null, paused_by = null, pause_reason = null, resume_at = null
   where t.name = p_task and t.paused_at is not null;
  perform holdfast.open_again(100);
  perform holdfast.wake(array(select s.queue from holdfast.sleeper s));
  return v_was_paused;
end $$;

--
-- Name: retire_worker(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.retire_worker(p_worker uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
  update holdfast.worker w
     set stopped_at = holdfast.clock(), died_at = holdfast.clock()
   where w.id = p_worker and w.died_at is null;
  if found then
    delete from holdfast.sleeper s where s.worker_id = p_worker;   -- after the worker, as the sweeper locks them
    perform set_config('holdfast.actor', (select w.name from holdfast.worker w where w.id = p_worker), true);
    perform holdfast.return_jobs(p_worker, 10000);
  end if;
end $$;

--
-- Name: retry(uuid, text, text, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.retry(p_id uuid, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_new_id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_old holdfast.job := holdfast.lock_job(p_id);
  v_task holdfast.task;
  v_now timestamptz := holdfast.clock();
  v_new uuid := coalesce(p_new_id, holdfast.new_id());
  v_other uuid;
  v_count bigint;
  v_gated boolean := holdfast.is_gated(v_old.task, v_old.queue);
begin
  select j.id into v_other from holdfast.job j where j.retry_of = p_id;
  if found then
    if v_other = p_new_id then
      return v_other;   -- the answer to the first call was lost
    end if;
    raise exception 'job % was already retried as %', p_id, v_other using errcode = 'HF008', hint = 'If that one failed too, retry it instead.';
  end if;
  if v_old.status <> 'FAILED' then
    raise exception 'job % is %; only a FAILED job can be retried', p_id, v_old.status using errcode = 'HF008';
  end if;

  select * into v_task from holdfast.task t where t.name = v_old.task;
  if not found then
    raise exception 'job % cannot be retried: task % is not registered any more', p_id, quote_literal(v_old.task) using errcode = 'HF008';
  end if;
  if v_task.manual_retries_per = 'subject' and v_old.subject is not null then
    -- Two retries of one subject's jobs at once must not both see the last place under the cap.
    perform pg_advisory_xact_lock(hashtextextended('holdfast:retry:' || coalesce(v_old.tenant, '') || ':' || v_old.subject, 0));
    select count(*) into v_count
      from holdfast.job j
     where j.subject = v_old.subject and j.tenant is not distinct from v_old.tenant and j.retry_of is not null;
  else
    with recursive chain as (
      select v_old.retry_of as id where v_old.retry_of is not null
      union all
      select j.retry_of from chain join holdfast.job j on j.id = chain.id where j.retry_of is not null)
    select count(*) into v_count from chain;
  end if;
  if v_count >= v_task.manual_retries then
    raise exception 'job % has been retried by hand % times, the most that task % allows', p_id, v_count, v_task.name using errcode = 'HF008';
  end if;
  if v_old.key is not null then
    update holdfast.job j set key_held = false where j.id = p_id and j.key_held;
    select j.id into v_other
      from holdfast.job j
     where coalesce(j.tenant, '') = coalesce(v_old.tenant, '') and j.task = v_old.task and j.key = v_old.key and j.key_held;
    if found then
      raise exception 'job % cannot be retried: job % holds its key', p_id, v_other using errcode = 'HF008', detail = v_other::text;
    end if;
  end if;

  if exists (select from holdfast.job j where j.id = v_new) then
    raise exception 'job id % is taken by another job', v_new using errcode = 'HF007', hint = 'An id belongs to one job: make a new one.';
  end if;
  perform set_config('holdfast.actor', coalesce(p_actor, ''), true);
  begin
    insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, ties, retry_of, priority, max_retries, key_held, task, queue, tenant, subject, key,
           key_scope, reason, label, requested_by, trace_parent, timeout, tags, metadata, payload)
    values (v_new, v_now, v_now, case when not v_gated then holdfast.place_in_line(v_now, v_old.priority) end,
            case when v_gated then v_now end, v_gated::int, p_id, v_old.priority, v_old.max_retries, v_old.key is not null, v_old.task,
            v_old.queue, v_old.tenant, v_old.subject, v_old.key, v_old.key_scope, coalesce(p_reason, 'retried by hand'), v_old.label,
            coalesce(p_actor, v_old.requested_by), v_old.trace_parent, v_old.timeout, v_old.tags, v_old.metadata, v_old.payload);
  exception when unique_violation then
    raise exception 'job % cannot be retried: another job took its key at this moment', p_id
      using errcode = 'HF008', hint = 'See what became of that one.';
  end;
  if v_gated then
    perform holdfast.join_limits(array[v_new]);
  end if;
  perform set_config('holdfast.actor', '', true);
  perform holdfast.wake(array[v_old.queue]);
  return v_new;
end $$;

--
-- Name: return_jobs(uuid, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.return_jobs(p_worker uuid, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
  v_count bigint;
begin
  with held as materialized (
    select j.id, j.claim_id, w.name as worker, w.stopped_at is not null as said_goodbye, coalesce(t.crash_cap, 3) as crash_cap,
           not exists (select from holdfast.job beside where beside.holder = w.id and not beside.suspect) as alone
      from holdfast.worker w
      join holdfast.job j on j.holder = w.id
      left join holdfast.task t on t.name = j.task
     where w.died_at is not null and (p_worker is null or w.id = p_worker)
     order by j.suspect desc, j.id   -- suspects first: they are judged while what ran beside them is still in the books
     limit p_limit
       for no key update of j skip locked),
  judged as materialized (
    select h.*, j.suspect and h.alone and not h.said_goodbye as charged,
           (j.suspect and h.alone and not h.said_goodbye and j.crash_count + 1 >= h.crash_cap) as condemned
      from held h
      join holdfast.job j on j.id = any (array[h.id::uuid])),
  back as (
    update holdfast.job j
       set status = case when g.condemned then 'FAILED' else 'RETRY' end::holdfast.job_status,
           holder = null,
           deadline_at = null,
           crash_count = j.crash_count + g.charged::int,
           suspect = not g.condemned and (j.suspect or not g.said_goodbye),
           due_at = case when not g.condemned then v_now end,
           claim_order = case when not g.condemned and j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
           error = case when g.condemned then jsonb_build_object('type', 'WorkerCrashed', 'kind', 'crash', 'recoverable', false,
                          'message', format('its worker died %s times while running it alone', j.crash_count + 1)) else j.error end,
           reason = case when g.said_goodbye then 'released: worker ' || g.worker || ' stopped' else 'worker ' || g.worker || ' died' end
      from judged g
     where j.id = any (array[g.id::uuid])
       -- Again: it may have finished, or been taken by another, while we waited for the lock.
       and j.status = 'RUNNING' and j.claim_id = g.claim_id
    returning j.id, j.attempt, j.status, j.queue, g.worker, g.charged, g.said_goodbye),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error)
    select b.id, b.attempt, b.worker, 'crashed', jsonb_build_object('type', 'WorkerDied', 'kind', 'crash', 'recoverable', true,
             'message', format('worker %s died; %s', b.worker, case when b.charged then 'it ran this job alone' else 'this job is one of several suspects' end))
      from back b
     where not b.said_goodbye
    on conflict do nothing)
  select count(*), array_agg(distinct queue) filter (where status = 'RETRY') into v_count, v_queues from back;
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
  return v_count;
end $$;

--
-- Name: rollout_bucket(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.rollout_bucket(p_key text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((((('x'::text || "right"(md5(p_key), 8)))::bit(32))::bigint % (10)::bigint))::integer;

--
-- Name: rollout_position(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.rollout_position(p_key text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((((((('x'::text || "right"(md5(p_key), 8)))::bit(32))::bigint % (10)::bigint) * 10) + ((((('x'::text || "right"(md5(p_key), 8)))::bit(32))::bigint / 10) % (10)::bigint)))::integer;

--
-- Name: save_checkpoint(uuid, integer, uuid, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  if octet_length(p_value::text) > 1048576 then
    raise exception 'the checkpoint has % bytes; at most 1,048,576 (1 MiB) are kept', octet_length(p_value::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and keep its id.';
  end if;
  insert into holdfast.checkpoint as c (job_id, attempt, at, value)
  values (p_job, p_attempt, holdfast.clock(), p_value)
  on conflict (job_id) do update set attempt = excluded.attempt, at = excluded.at, value = excluded.value;
end $$;

--
-- Name: save_step(uuid, integer, uuid, text, text, text, jsonb, boolean, integer, double precision); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz;
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  if octet_length(p_value::text) > 1048576 then
    raise exception 'step % has a value of % bytes; at most 1,048,576 (1 MiB) are kept', quote_literal(p_name), octet_length(p_value::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and return its id.';
  end if;
  v_now := holdfast.clock();
  insert into holdfast.step (job_id, name, kind, after, attempt, tries, undoable, started_at, finished_at, value)
  values (p_job, p_name, p_kind, p_after, p_attempt, p_tries, p_undoable, v_now - make_interval(secs => greatest(p_took, 0)), v_now, p_value)
  on conflict do nothing;
end $$;

--
-- Name: saved_steps(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.saved_steps(p_job uuid) RETURNS TABLE(name text, kind text, after text, value text, undoable boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select s.name::text, s.kind, s.after, s.value::text, s.undoable
    from holdfast.step s
   where s.job_id = p_job
   order by s.finished_at, s.name
$$;

--
-- Name: set_flag(text, boolean, integer, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer DEFAULT NULL::integer, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_percent not between 0 and 100 then
    raise exception 'a flag is on for 0 to 100 %%, not %', p_percent using errcode = 'HF005';
  end if;
  insert into holdfast.flag as f (name, enabled, percent, set_by, reason)
  values (p_flag, coalesce(p_enabled, true), coalesce(p_percent, 100), coalesce(p_actor, session_user), p_reason)
  on conflict (name) do update
     set enabled = coalesce(p_enabled, f.enabled), percent = coalesce(p_percent, f.percent), set_by = excluded.set_by,
         reason = excluded.reason, at = excluded.at;
  perform holdfast.open_again(100);
  perform holdfast.wake(array(select s.queue from holdfast.sleeper s));
end $$;

--
-- Name: settle(uuid, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.settle(p_worker uuid, p_settlements jsonb) RETURNS TABLE(id uuid, status holdfast.job_status, recorded boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_name text;
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  v_name := coalesce(v_name, p_worker::text);
  perform set_config('holdfast.actor', v_name, true);
  return query
  with outcome as materialized (
    select o.id, o.attempt, o.claim_id, o.outcome, o.error, o.delay, o.reason, o.logs, coalesce(o.recoverable, true) as recoverable
      from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, claim_id uuid, outcome text, error jsonb, delay float8,
             recoverable boolean, reason text, logs jsonb)),
  mine as materialized (
    select o.*, j.retry_count, j.crash_count,
           case o.outcome
             when 'cancelled' then 'CANCELLED'
             when 'released' then 'RETRY'
             when 'crashed' then case when j.crash_count + 1 < coalesce(t.crash_cap, 3) then 'RETRY' else 'FAILED' end
             when 'failed' then case when o.recoverable and j.retry_count < j.max_retries then 'RETRY' else 'FAILED' end
             else holdfast.unknown_outcome(o.outcome)
           end::holdfast.job_status as to_status
      from outcome o
      join holdfast.job j on j.id = any (array[o.id])
      left join holdfast.task t on t.name = j.task
     where j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker
     order by o.id
       for no key update of j),
  moved as (
    update holdfast.job j
       set status = m.to_status,
           holder = null,
           deadline_at = null,
           suspect = m.to_status = 'RETRY' and (m.outcome = 'crashed' or (m.outcome = 'released' and j.suspect)),
           retry_count = m.retry_count + (m.outcome = 'failed' and m.to_status = 'RETRY')::int,
           crash_count = m.crash_count + (m.outcome = 'crashed')::int,
           due_at = case when m.to_status = 'RETRY' then v_now + make_interval(secs => coalesce(m.delay, 0)) end,
           claim_order = case when m.to_status = 'RETRY' and coalesce(m.delay, 0) <= 0 and j.ties & 1 = 0
                              then holdfast.place_in_line(v_now, j.priority) end,
           error = case when m.outcome = 'released' then j.error else coalesce(m.error, j.error) end,
           reason = m.reason
      from mine m
     where j.id = any (array[m.id])
    returning j.id, j.status, j.queue, j.due_at),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error, logs)
    select m.id, m.attempt, v_name, m.outcome, m.error, m.logs
      from mine m
     where m.error is not null or m.logs is not null
    on conflict do nothing),
  woken as (
    select holdfast.wake(array_agg(distinct d.queue)) as done
      from moved d
     where d.due_at <= v_now
    having count(*) > 0)
  select o.id, coalesce(d.status, j.status),
         d.id is not null
         -- The same attempt has written the same before, and the answer was lost: a success, as for complete.
         or exists (select from holdfast.job_history h
                     where h.job_id = o.id and h.attempt = o.attempt and h.from_status = 'RUNNING' and h.actor = v_name
                       and h.reason is not distinct from o.reason
                       and h.to_status = any (case o.outcome when 'cancelled' then '{CANCELLED}' when 'released' then '{RETRY}'
                                              else '{RETRY,FAILED}' end::holdfast.job_status[]))
    from outcome o
    left join moved d on d.id = o.id
    left join holdfast.job j on j.id = any (array[o.id])
    left join woken w on true;
end $$;

--
-- Name: settle_conflict(uuid, jsonb, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.settle_conflict(p_id uuid, p_wanted jsonb, p_now timestamp with time zone, OUT job_id uuid, OUT created boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_policy text := coalesce(p_wanted ->> 'on_conflict', 'return');
  v_old holdfast.job;
  v_task holdfast.task;
  v_key text;
begin
  select * into v_old from holdfast.job j where j.id = p_id;
  if found then
    if v_old.task is distinct from p_wanted ->> 'task' or v_old.payload is distinct from p_wanted -> 'payload'
       or v_old.tenant is distinct from p_wanted ->> 'tenant' then
      raise exception 'job id % is taken by another job (task %)', p_id, v_old.task
        using errcode = 'HF007', hint = 'An id belongs to one job: make a new one.';
    end if;
    job_id := p_id;
    created := v_old.created_at = p_now;
    return;
  end if;

  select * into strict v_task from holdfast.task t where t.name = p_wanted ->> 'task';
  v_key := coalesce(p_wanted ->> 'key', holdfast.key_of(p_wanted -> 'payload', v_task.unique_by));
  for v_try in 1..10 loop
    select * into v_old
      from holdfast.job j
     where coalesce(j.tenant, '') = coalesce(p_wanted ->> 'tenant', '') and j.task = v_task.name and j.key = v_key and j.key_held;
    if found and v_policy = 'replace' then   -- only who changes the holder locks it: a caller may hold on to a lock for long
      select * into v_old from holdfast.job j where j.id = v_old.id and j.key_held for no key update;
    end if;
    if found and v_policy = 'raise' then
      raise exception 'job % (%) already holds the key %', v_old.id, v_old.status, quote_literal(v_key)
        using errcode = 'HF006', detail = v_old.id::text, hint = 'Wait for it, or enqueue with on_conflict=return or replace.';
    elsif found and v_policy = 'replace' and v_old.status = 'PENDING' then
      update holdfast.job j
         set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null, key_held = false, reason = 'replaced by ' || p_id
       where j.id = v_old.id;
    elsif found then
      job_id := v_old.id;
      created := false;
      return;
    end if;
    -- The key is free now: its holder ended meanwhile, or was replaced above.
    select e.job_id, e.created into job_id, created
      from holdfast.enqueue_many(jsonb_build_array(p_wanted || jsonb_build_object('id', p_id, 'on_conflict', 'return'))) as e;
    if job_id = p_id then
      return;
    end if;
  end loop;
  raise exception 'key % kept changing hands; try again', quote_literal(v_key) using errcode = '40001';
end $$;

--
-- Name: stay_awake(uuid, text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.stay_awake(p_worker uuid, p_queues text[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  delete from holdfast.sleeper s where s.worker_id = p_worker and s.queue = any (p_queues)
$$;

--
-- Name: sweep(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.sweep(p_limit integer DEFAULT 1000, OUT died bigint, OUT returned bigint, OUT overdue bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
begin
  perform set_config('holdfast.actor', 'sweeper', true);
  with silent as (
    update holdfast.worker w
       set died_at = holdfast.clock()
     where w.died_at is null
       -- A server that has just started heard nobody: whoever lives has a lease's time to say so.
       and greatest(w.seen_at, pg_postmaster_start_time()) + w.lease < holdfast.clock()
    returning w.id),
  awake as (
    delete from holdfast.sleeper s using silent where s.worker_id = silent.id)
  select count(*) into died from silent;
  returned := holdfast.return_jobs(null, p_limit);
  overdue := holdfast.end_overdue(p_limit);
  perform holdfast.clear_line(p_limit);
  perform holdfast.heal(p_limit);
end $$;

--
-- Name: task; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.task (
    name holdfast.name NOT NULL,
    queue holdfast.name DEFAULT 'default'::text NOT NULL,
    priority holdfast.priority DEFAULT 0 NOT NULL,
    max_retries holdfast.small_count DEFAULT 3 NOT NULL,
    crash_cap holdfast.small_count DEFAULT 3 NOT NULL,
    timeout interval,
    retention interval,
    unique_by holdfast.tags,
    key_scope holdfast.key_scope DEFAULT 'active'::text NOT NULL,
    manual_retries holdfast.small_count DEFAULT 3 NOT NULL,
    manual_retries_per text DEFAULT 'job'::text NOT NULL,
    registered_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    options jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_reason text,
    resume_at timestamp with time zone,
    CONSTRAINT resume_needs_a_pause CHECK (((resume_at IS NULL) OR (paused_at IS NOT NULL))),
    CONSTRAINT task_crash_cap_is_positive CHECK (((crash_cap)::smallint > 0)),
    CONSTRAINT task_manual_retries_are_counted_per_job_or_subject CHECK ((manual_retries_per = ANY (ARRAY['job'::text, 'subject'::text]))),
    CONSTRAINT task_retention_is_positive CHECK (((retention > '00:00:00'::interval) AND (retention <= '100 years'::interval))),
    CONSTRAINT task_timeout_is_positive CHECK (((timeout > '00:00:00'::interval) AND (timeout <= '1 year'::interval)))
);

--
-- Name: task_is_paused(holdfast.task); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.task_is_paused(p_task holdfast.task) RETURNS boolean
    LANGUAGE sql STABLE
    RETURN (((p_task).paused_at IS NOT NULL) AND (((p_task).resume_at IS NULL) OR ((p_task).resume_at > holdfast.clock())));

--
-- Name: tell_followers(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.tell_followers(p_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_cancelled uuid[];
  v_queues text[];
  v_started uuid[];
begin
  -- A follower that never started is cancelled with what it needs, unless it says otherwise.
  with doomed as materialized (
    select distinct on (d.job_id) d.job_id, d.needs, p.status as why
      from holdfast.job p
      join holdfast.dependency d on d.needs = p.id
     where p.id = any (p_ids) and p.status in ('FAILED', 'CANCELLED') and d.policy = 'cancel'
     order by d.job_id),
  locked as materialized (
    select j.id, m.needs, m.why
      from (select * from doomed order by job_id) as m
      join holdfast.job j on j.id = any (array[m.job_id])
     where j.status = 'PENDING'
     order by j.id
       for no key update of j),
  gone as (
    update holdfast.job j
       set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null,
           reason = format('job %s, which it needs, is %s', l.needs, l.why)
      from locked l
     where j.id = any (array[l.id::uuid]) and j.status = 'PENDING'
    returning j.id)
  select array_agg(g.id) into v_cancelled from gone g;

  with ended as (
    select p.id from holdfast.job p where p.id = any (p_ids) and p.ties & 2 > 0 and p.finished_at is not null),
  fewer as (
    select d.job_id, count(*) as n
      from ended e
      join holdfast.dependency d on d.needs = e.id
     group by d.job_id
     order by d.job_id),
  counted as (
    update holdfast.wait w
       set remaining = w.remaining - f.n
      from (select f.job_id, f.n from fewer f join holdfast.wait w on w.job_id = any (array[f.job_id]) order by f.job_id for no key update of w) as f
     where w.job_id = any (array[f.job_id])
    returning w.job_id, w.remaining, w.run_at, w.step),
  -- A waiting attempt's row stays until the attempt has read it; one that never started needs it no more.
  freed as (
    select c.job_id, c.step, greatest(c.run_at, v_now) as due from counted c where c.remaining <= 0),
  ready as (
    update holdfast.job j
       set held_by = null, due_at = case when j.ties & 1 = 1 or f.due > v_now then f.due end,
           claim_order = case when j.ties & 1 = 0 and f.due <= v_now then holdfast.place_in_line(v_now, j.priority) end
      from (select f.job_id, f.due from freed f join holdfast.job j on j.id = any (array[f.job_id]) order by f.job_id for no key update of j) as f
     where j.id = any (array[f.job_id]) and j.status in ('PENDING', 'WAITING') and j.claim_order is null
    returning j.queue)
  select (select array_agg(distinct r.queue) from ready r), (select array_agg(f.job_id) from freed f where f.step is null)
    into v_queues, v_started;
  delete from holdfast.wait w where w.job_id = any (v_started);
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
  return v_cancelled;
end $$;

--
-- Name: unknown_outcome(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unknown_outcome(p_outcome text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'outcome % is not one of failed, crashed, released, cancelled', quote_nullable(p_outcome) using errcode = 'HF005';
end $$;

--
-- Name: unknown_task(bigint, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unknown_task(p_position bigint, p_task text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'job %: task % is not registered in this database', p_position, quote_literal(p_task)
    using errcode = 'HF004', hint = 'Start a worker that has it (holdfast -a module:app worker), or check the name.';
end $$;

--
-- Name: upkeep(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.upkeep(p_limit integer DEFAULT 5000, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform from holdfast.upkeep u for update skip locked;
  if not found then
    return;
  end if;
  partitions := holdfast.ensure_history_partitions();
  removed := holdfast.apply_retention(p_limit);
  perform holdfast.drop_empty_history_partitions();
  delete from holdfast.rate_slot r where r.used_at < holdfast.clock() - r.period - interval '1 hour';
  with gone as (
    delete from holdfast.worker w
     where w.died_at < holdfast.clock() - interval '1 day'
       and not exists (select from holdfast.job j where j.holder = w.id)
    returning 1)
  select count(*) into forgotten from gone;
  update holdfast.upkeep set ran_at = holdfast.clock();
end $$;

--
-- Name: uuid_at(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.uuid_at(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((lpad(to_hex((floor((EXTRACT(epoch FROM p_at) * (1000)::numeric)))::bigint), 12, '0'::text) || '00000000000000000000'::text))::uuid;

--
-- Name: wake(text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.wake(p_queues text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_queue text;
begin
  if current_setting('holdfast.quiet', true) = 'on' then
    return;
  end if;
  for v_queue in select distinct s.queue from holdfast.sleeper s where s.queue = any (p_queues) loop
    perform pg_notify('holdfast_wake', v_queue);
  end loop;
end $$;

--
-- Name: wanted(jsonb, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.wanted(p_jobs jsonb, p_now timestamp with time zone) RETURNS TABLE(nth bigint, id uuid, run_at timestamp with time zone, priority integer, max_retries integer, task text, queue text, tenant text, subject text, key text, key_scope text, label text, requested_by text, trace_parent text, timeout interval, tags jsonb, metadata jsonb, payload jsonb, ties smallint, parent_id uuid, needs_jobs boolean)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT w.nth,
     w.id,
     COALESCE(w.run_at, (wanted.p_now + make_interval(secs => w.run_in))) AS "coalesce",
     COALESCE(w.priority, (t.priority)::integer) AS "coalesce",
     COALESCE(w.max_retries, (t.max_retries)::integer) AS "coalesce",
     w.task,
     COALESCE(w.queue, (t.queue)::text) AS "coalesce",
     w.tenant,
     w.subject,
     COALESCE(w.key,
         CASE
             WHEN (t.unique_by IS NOT NULL) THEN holdfast.key_of(w.payload, (t.unique_by)::jsonb)
             ELSE NULL::text
         END) AS "coalesce",
     COALESCE(w.key_scope, (t.key_scope)::text) AS "coalesce",
     w.label,
     w.requested_by,
     w.trace_parent,
     COALESCE(make_interval(secs => w.timeout), t.timeout) AS "coalesce",
     w.tags,
     w.metadata,
     w.payload,
     (
         CASE
             WHEN ((t.options ?| ARRAY['limits'::text, 'rates'::text, 'flag'::text]) OR (COALESCE(w.queue, (t.queue)::text) = ANY ((ARRAY( SELECT q.name
                FROM holdfast.queue q
               WHERE (q.job_limit IS NOT NULL)))::text[]))) THEN 1
             ELSE 0
         END)::smallint AS int2,
     w.parent,
     ((w.after IS NOT NULL) AND (w.after <> '[]'::jsonb))
    FROM (ROWS FROM(jsonb_to_recordset(wanted.p_jobs) AS (id uuid, task text, payload jsonb, queue text, priority integer, run_at timestamp with time zone, run_in double precision, key text, key_scope text, on_conflict text, tenant text, subject text, tags jsonb, label text, metadata jsonb, requested_by text, trace_parent text, max_retries integer, timeout double precision, parent uuid, after jsonb, on_parent_failure text)) WITH ORDINALITY w(id, task, payload, queue, priority, run_at, run_in, key, key_scope, on_conflict, tenant, subject, tags, label, metadata, requested_by, trace_parent, max_retries, timeout, parent, after, on_parent_failure, nth)
      LEFT JOIN holdfast.task t ON (((t.name)::text = w.task)))
   WHERE
         CASE
             WHEN (w.task IS NULL) THEN holdfast.bad_input(w.nth, 'it names no task'::text)
             WHEN (t.name IS NULL) THEN holdfast.unknown_task(w.nth, w.task)
             WHEN (jsonb_typeof(w.payload) IS DISTINCT FROM 'object'::text) THEN holdfast.bad_input(w.nth, format('the payload of %s must be a JSON object, not %s'::text, w.task, COALESCE(jsonb_typeof(w.payload), 'missing'::text)))
             WHEN (octet_length((w.payload)::text) > 262144) THEN holdfast.bad_input(w.nth, format('the payload of %s has %s bytes; at most 262,144 (256 KiB) fit: store the data elsewhere and enqueue its id'::text, w.task, octet_length((w.payload)::text)))
             WHEN ((w.priority < '-100'::integer) OR (w.priority > 100)) THEN holdfast.bad_input(w.nth, format('priority %s is outside -100 to 100'::text, w.priority))
             WHEN ((w.max_retries < 0) OR (w.max_retries > 100)) THEN holdfast.bad_input(w.nth, format('max_retries %s is outside 0 to 100'::text, w.max_retries))
             WHEN ((w.run_at IS NOT NULL) AND (w.run_in IS NOT NULL)) THEN holdfast.bad_input(w.nth, 'give run_at or run_in, not both'::text)
             WHEN (NOT ((w.timeout > (0)::double precision) AND (w.timeout <= (31536000)::double precision))) THEN holdfast.bad_input(w.nth, format('timeout %s must be more than 0 seconds and at most a year'::text, w.timeout))
             WHEN ((NOT ((w.run_at >= '1970-01-01 00:00:00+00'::timestamp with time zone) AND (w.run_at <= (wanted.p_now + '100 years'::interval)))) OR (NOT (w.run_in <= ('3153600000'::bigint)::double precision))) THEN holdfast.bad_input(w.nth, 'it must be due within a hundred years'::text)
             WHEN (octet_length((w.metadata)::text) > 65536) THEN holdfast.bad_input(w.nth, 'metadata may have 65,536 bytes (64 KiB)'::text)
             WHEN (GREATEST(length(w.requested_by), length(w.trace_parent)) > 500) THEN holdfast.bad_input(w.nth, 'requested_by and trace_parent may have 500 characters'::text)
             WHEN ((w.tags IS NOT NULL) AND (NOT holdfast.are_strings(w.tags))) THEN holdfast.bad_input(w.nth, 'tags must be a list of strings'::text)
             WHEN (jsonb_typeof(w.metadata) <> 'object'::text) THEN holdfast.bad_input(w.nth, 'metadata must be a JSON object'::text)
             WHEN ((((''::text = w.queue) OR (''::text = w.tenant)) OR (''::text = w.subject)) OR (''::text = w.key)) THEN holdfast.bad_input(w.nth, 'queue, tenant, subject and key must not be empty: leave out what it does not have'::text)
             WHEN ((GREATEST(length(w.queue), length(w.tenant)) > 200) OR (GREATEST(length(w.subject), length(w.key), length(w.label)) > 500)) THEN holdfast.bad_input(w.nth, 'a queue or tenant may have 200 characters, a subject, key or label 500'::text)
             WHEN (w.key_scope <> ALL (ARRAY['active'::text, 'success'::text, 'ever'::text])) THEN holdfast.bad_input(w.nth, format('key scope %L is not one of active, success, ever'::text, w.key_scope))
             WHEN ((w.after IS NOT NULL) AND (NOT holdfast.are_strings(w.after))) THEN holdfast.bad_input(w.nth, 'after must be a list of job ids'::text)
             WHEN (w.on_parent_failure <> ALL (ARRAY['cancel'::text, 'run'::text])) THEN holdfast.bad_input(w.nth, format('on_parent_failure %L is not one of cancel, run'::text, w.on_parent_failure))
             WHEN (w.on_conflict <> ALL (ARRAY['return'::text, 'raise'::text, 'replace'::text])) THEN holdfast.bad_input(w.nth, format('on_conflict %L is not one of return, raise, replace'::text, w.on_conflict))
             ELSE true
         END;
END;

--
-- Name: with_ids(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.with_ids(p_jobs jsonb) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select coalesce(jsonb_agg(jsonb_build_object('id', holdfast.new_id()) || one order by nth), '[]')
    from jsonb_array_elements(p_jobs) with ordinality as w (one, nth)
$$;

--
-- Name: activity; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.activity (
    id bigint NOT NULL,
    job_id uuid NOT NULL,
    at timestamp with time zone NOT NULL,
    xid bigint NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    data jsonb
);

--
-- Name: activity_id_seq; Type: SEQUENCE; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.activity ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME holdfast.activity_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: attempt; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.attempt (
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    worker text NOT NULL,
    outcome text NOT NULL,
    error jsonb,
    logs jsonb,
    at timestamp with time zone DEFAULT holdfast.clock() NOT NULL
);

--
-- Name: checkpoint; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.checkpoint (
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    value jsonb NOT NULL
);

--
-- Name: dependency; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.dependency (
    needs uuid NOT NULL,
    job_id uuid NOT NULL,
    "position" integer NOT NULL,
    policy text DEFAULT 'cancel'::text NOT NULL,
    CONSTRAINT dependency_policy_is_known CHECK ((policy = ANY (ARRAY['cancel'::text, 'run'::text]))),
    CONSTRAINT nobody_needs_itself CHECK ((needs <> job_id))
);

--
-- Name: event; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.event (
    id bigint NOT NULL,
    name holdfast.long_name NOT NULL,
    tenant holdfast.name,
    payload jsonb NOT NULL,
    emitted_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    emitted_by text NOT NULL
);

--
-- Name: event_id_seq; Type: SEQUENCE; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.event ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME holdfast.event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: flag; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.flag (
    name holdfast.name NOT NULL,
    enabled boolean NOT NULL,
    percent smallint DEFAULT 100 NOT NULL,
    set_by text NOT NULL,
    reason text,
    at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT flag_percent_is_a_share CHECK (((percent >= 0) AND (percent <= 100)))
);

--
-- Name: heal; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.heal (
    only_one boolean DEFAULT true NOT NULL,
    reached text DEFAULT ''::text NOT NULL,
    CONSTRAINT heal_only_one_check CHECK (only_one)
);

--
-- Name: job_history; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.job_history (
    job_id uuid NOT NULL,
    seq integer NOT NULL,
    from_status holdfast.job_status,
    to_status holdfast.job_status NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    xid bigint NOT NULL,
    actor text NOT NULL,
    reason text,
    metadata jsonb
)
PARTITION BY RANGE (job_id);

--
-- Name: history_overview; Type: VIEW; Schema: holdfast; Owner: -
--

CREATE VIEW holdfast.history_overview AS
 SELECT job_id,
    seq,
    from_status,
    to_status,
    attempt,
    at,
    actor
   FROM holdfast.job_history h;

--
-- Name: installed; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.installed (
    what text NOT NULL,
    checksum text NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL
);

--
-- Name: job_history_rest; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.job_history_rest (
    job_id uuid CONSTRAINT job_history_job_id_not_null NOT NULL,
    seq integer CONSTRAINT job_history_seq_not_null NOT NULL,
    from_status holdfast.job_status,
    to_status holdfast.job_status CONSTRAINT job_history_to_status_not_null NOT NULL,
    attempt integer CONSTRAINT job_history_attempt_not_null NOT NULL,
    at timestamp with time zone CONSTRAINT job_history_at_not_null NOT NULL,
    xid bigint CONSTRAINT job_history_xid_not_null NOT NULL,
    actor text CONSTRAINT job_history_actor_not_null NOT NULL,
    reason text,
    metadata jsonb
);

--
-- Name: job_overview; Type: VIEW; Schema: holdfast; Owner: -
--

CREATE VIEW holdfast.job_overview AS
 SELECT id,
    task,
    queue,
    status,
    priority,
    attempt,
    retry_count,
    max_retries,
    crash_count,
    created_at,
    updated_at,
    due_at,
    finished_at,
    tenant,
    subject,
    label,
    tags,
    retry_of,
    (error ->> 'type'::text) AS error_type
   FROM holdfast.job j;

--
-- Name: progress; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.progress (
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    at timestamp with time zone NOT NULL,
    done double precision NOT NULL,
    total double precision,
    note text,
    CONSTRAINT progress_note_is_short CHECK ((length(note) <= 500))
)
WITH (fillfactor='70');

--
-- Name: rate_slot; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.rate_slot (
    key text NOT NULL COLLATE pg_catalog."C",
    n integer NOT NULL,
    job_id uuid NOT NULL,
    used_at timestamp with time zone,
    period interval NOT NULL,
    CONSTRAINT rate_slots_are_counted_from_1 CHECK ((n > 0))
);

--
-- Name: rate_wait; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.rate_wait (
    key text NOT NULL COLLATE pg_catalog."C",
    next_at timestamp with time zone NOT NULL
);

--
-- Name: sleeper; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.sleeper (
    queue text NOT NULL,
    worker_id uuid NOT NULL
);

--
-- Name: slot; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.slot (
    job_id uuid NOT NULL,
    key text NOT NULL COLLATE pg_catalog."C",
    n integer,
    CONSTRAINT slots_are_counted_from_1 CHECK ((n > 0))
);

--
-- Name: step; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.step (
    job_id uuid NOT NULL,
    name holdfast.long_name NOT NULL,
    kind text NOT NULL,
    after text,
    attempt integer NOT NULL,
    tries integer DEFAULT 1 NOT NULL,
    undoable boolean DEFAULT false NOT NULL,
    started_at timestamp with time zone NOT NULL,
    finished_at timestamp with time zone NOT NULL,
    value jsonb,
    CONSTRAINT step_ends_after_it_starts CHECK ((finished_at >= started_at)),
    CONSTRAINT step_kind_is_known CHECK ((kind = ANY (ARRAY['step'::text, 'transaction'::text, 'sleep'::text, 'event'::text, 'jobs'::text, 'children'::text, 'approval'::text, 'undo'::text])))
);

--
-- Name: upkeep; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.upkeep (
    only_one boolean DEFAULT true NOT NULL,
    ran_at timestamp with time zone,
    CONSTRAINT upkeep_only_one_check CHECK (only_one)
);

--
-- Name: wait; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.wait (
    job_id uuid NOT NULL,
    step text,
    after text,
    event holdfast.long_name,
    remaining integer,
    until timestamp with time zone,
    run_at timestamp with time zone,
    since timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT wait_is_for_an_event_or_for_jobs CHECK (((event IS NULL) <> (remaining IS NULL)))
)
WITH (fillfactor='70');

--
-- Name: worker; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.worker (
    id uuid NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    version text NOT NULL,
    queues jsonb NOT NULL,
    tasks text[] NOT NULL,
    lease interval NOT NULL,
    started_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    seen_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    clock_skew interval DEFAULT '00:00:00'::interval NOT NULL,
    stopped_at timestamp with time zone,
    died_at timestamp with time zone,
    CONSTRAINT lease_is_at_least_a_second CHECK ((lease >= '00:00:01'::interval))
)
WITH (fillfactor='50');

--
-- Name: job_history_rest; Type: TABLE ATTACH; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.job_history ATTACH PARTITION holdfast.job_history_rest DEFAULT;

--
-- Name: activity activity_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.activity
    ADD CONSTRAINT activity_pkey PRIMARY KEY (id);

--
-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (job_id, attempt);

--
-- Name: checkpoint checkpoint_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.checkpoint
    ADD CONSTRAINT checkpoint_pkey PRIMARY KEY (job_id);

--
-- Name: dependency dependency_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.dependency
    ADD CONSTRAINT dependency_pkey PRIMARY KEY (needs, job_id);

--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);

--
-- Name: flag flag_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.flag
    ADD CONSTRAINT flag_pkey PRIMARY KEY (name);

--
-- Name: heal heal_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.heal
    ADD CONSTRAINT heal_pkey PRIMARY KEY (only_one);

--
-- Name: installed installed_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.installed
    ADD CONSTRAINT installed_pkey PRIMARY KEY (what);

--
-- Name: job_history job_history_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.job_history
    ADD CONSTRAINT job_history_pkey PRIMARY KEY (job_id, seq);

--
-- Name: job_history_rest job_history_rest_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.job_history_rest
    ADD CONSTRAINT job_history_rest_pkey PRIMARY KEY (job_id, seq);

--
-- Name: job job_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

--
-- Name: progress progress_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (job_id);

--
-- Name: queue queue_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (name);

--
-- Name: rate_slot rate_slot_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.rate_slot
    ADD CONSTRAINT rate_slot_pkey PRIMARY KEY (key, n);

--
-- Name: rate_wait rate_wait_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.rate_wait
    ADD CONSTRAINT rate_wait_pkey PRIMARY KEY (key);

--
-- Name: sleeper sleeper_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.sleeper
    ADD CONSTRAINT sleeper_pkey PRIMARY KEY (queue, worker_id);

--
-- Name: slot slot_has_one_holder; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.slot
    ADD CONSTRAINT slot_has_one_holder UNIQUE (key, n);

--
-- Name: slot slot_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.slot
    ADD CONSTRAINT slot_pkey PRIMARY KEY (job_id, key);

--
-- Name: step step_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (job_id, name);

--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (name);

--
-- Name: upkeep upkeep_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.upkeep
    ADD CONSTRAINT upkeep_pkey PRIMARY KEY (only_one);

--
-- Name: wait wait_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.wait
    ADD CONSTRAINT wait_pkey PRIMARY KEY (job_id);

--
-- Name: worker worker_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.worker
    ADD CONSTRAINT worker_pkey PRIMARY KEY (id);

--
-- Name: activity_by_xid; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX activity_by_xid ON holdfast.activity USING btree (xid);

--
-- Name: activity_of_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX activity_of_job ON holdfast.activity USING btree (job_id, id);

--
-- Name: dependency_of; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX dependency_of ON holdfast.dependency USING btree (job_id, "position");

--
-- Name: event_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX event_by_age ON holdfast.event USING btree (emitted_at);

--
-- Name: event_by_name; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX event_by_name ON holdfast.event USING btree (name, id);

--
-- Name: job_by_parent; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_parent ON holdfast.job USING btree (parent_id, id) WHERE (parent_id IS NOT NULL);

--
-- Name: job_by_status; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_status ON holdfast.job USING btree (status, id DESC) WHERE (status <> 'RUNNING'::holdfast.job_status);

--
-- Name: job_by_subject; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_subject ON holdfast.job USING btree (subject, id DESC) WHERE (subject IS NOT NULL);

--
-- Name: job_by_tag; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_tag ON holdfast.job USING gin (tags jsonb_path_ops) WHERE (tags IS NOT NULL);

--
-- Name: job_by_task; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_task ON holdfast.job USING btree (task, id DESC) WHERE (status <> 'RUNNING'::holdfast.job_status);

--
-- Name: job_by_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_by_tenant ON holdfast.job USING btree (tenant, id DESC) WHERE (tenant IS NOT NULL);

--
-- Name: job_compensating; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_compensating ON holdfast.job USING btree (compensates, id) WHERE (compensates IS NOT NULL);

--
-- Name: job_due; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_due ON holdfast.job USING btree (due_at) WHERE ((due_at IS NOT NULL) AND (claim_order IS NULL) AND (held_by IS NULL));

--
-- Name: job_held; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_held ON holdfast.job USING btree (holder) WHERE (holder IS NOT NULL);

--
-- Name: job_in_line; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_in_line ON holdfast.job USING btree (queue, claim_order, id) WHERE ((claim_order IS NOT NULL) AND (NOT suspect));

--
-- Name: job_key; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE UNIQUE INDEX job_key ON holdfast.job USING btree (COALESCE((tenant)::text, ''::text), task, key) WHERE key_held;

--
-- Name: job_parked; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_parked ON holdfast.job USING btree (held_by COLLATE "C", holdfast.parked_place(due_at, created_at, (priority)::integer), id) WHERE (held_by IS NOT NULL);

--
-- Name: job_retried_once; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE UNIQUE INDEX job_retried_once ON holdfast.job USING btree (retry_of) WHERE (retry_of IS NOT NULL);

--
-- Name: job_suspect; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_suspect ON holdfast.job USING btree (queue, claim_order, id) WHERE ((claim_order IS NOT NULL) AND suspect);

--
-- Name: rate_slot_by_use; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX rate_slot_by_use ON holdfast.rate_slot USING btree (key, used_at);

--
-- Name: rate_slot_granted; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX rate_slot_granted ON holdfast.rate_slot USING btree (job_id) WHERE (used_at IS NULL);

--
-- Name: rate_wait_by_time; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX rate_wait_by_time ON holdfast.rate_wait USING btree (next_at);

--
-- Name: task_paused; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX task_paused ON holdfast.task USING btree (name) WHERE (paused_at IS NOT NULL);

--
-- Name: wait_for_event; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX wait_for_event ON holdfast.wait USING btree (event) WHERE (event IS NOT NULL);

--
-- Name: job_history_rest_pkey; Type: INDEX ATTACH; Schema: holdfast; Owner: -
--

ALTER INDEX holdfast.job_history_pkey ATTACH PARTITION holdfast.job_history_rest_pkey;

--
-- Name: activity activity_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER activity_is_append_only BEFORE UPDATE ON holdfast.activity FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('activity is append-only: UPDATE is refused');

ALTER TABLE holdfast.activity ENABLE ALWAYS TRIGGER activity_is_append_only;

--
-- Name: activity activity_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER activity_is_kept BEFORE DELETE ON holdfast.activity FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('activity is append-only: DELETE is for retention only');

ALTER TABLE holdfast.activity ENABLE ALWAYS TRIGGER activity_is_kept;

--
-- Name: activity activity_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER activity_is_not_truncated BEFORE TRUNCATE ON holdfast.activity FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('activity is append-only: TRUNCATE is refused');

ALTER TABLE holdfast.activity ENABLE ALWAYS TRIGGER activity_is_not_truncated;

--
-- Name: attempt attempt_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER attempt_is_append_only BEFORE UPDATE ON holdfast.attempt FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('attempts are append-only: UPDATE is refused');

ALTER TABLE holdfast.attempt ENABLE ALWAYS TRIGGER attempt_is_append_only;

--
-- Name: attempt attempt_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER attempt_is_kept BEFORE DELETE ON holdfast.attempt FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('attempts are append-only: DELETE is for retention only');

ALTER TABLE holdfast.attempt ENABLE ALWAYS TRIGGER attempt_is_kept;

--
-- Name: attempt attempt_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER attempt_is_not_truncated BEFORE TRUNCATE ON holdfast.attempt FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('attempts are append-only: TRUNCATE is refused');

ALTER TABLE holdfast.attempt ENABLE ALWAYS TRIGGER attempt_is_not_truncated;

--
-- Name: job guard_move; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER guard_move BEFORE UPDATE ON holdfast.job FOR EACH ROW WHEN (((old.status <> new.status) AND ((holdfast.is_legal(old.status, new.status) AND (new.seq = (old.seq + 1)) AND (new.came_from = old.status) AND (new.updated_at >= old.updated_at) AND ((new.updated_at >= (holdfast.clock() - (clock_timestamp() - statement_timestamp()))) AND (new.updated_at <= holdfast.clock())) AND (old.key_held OR (NOT new.key_held)) AND
        CASE
            WHEN (new.status = 'RUNNING'::holdfast.job_status) THEN ((new.attempt = (old.attempt + 1)) AND (new.claim_id IS NOT NULL) AND (new.claim_id IS DISTINCT FROM old.claim_id) AND (new.finished_at IS NULL))
            ELSE ((new.attempt = old.attempt) AND (NOT (new.claim_id IS DISTINCT FROM old.claim_id)) AND (new.status = 'COMPLETED'::holdfast.job_status) AND (new.finished_at = new.updated_at) AND (NOT new.key_held))
        END) IS NOT TRUE))) EXECUTE FUNCTION holdfast.guard_move();

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER guard_move;

--
-- Name: job guard_removal; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER guard_removal BEFORE DELETE ON holdfast.job FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('jobs are kept: DELETE is for retention only');

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER guard_removal;

--
-- Name: job guard_stay; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER guard_stay BEFORE UPDATE ON holdfast.job FOR EACH ROW WHEN ((old.status = new.status)) EXECUTE FUNCTION holdfast.guard_stay();

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER guard_stay;

--
-- Name: job guard_truncate; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER guard_truncate BEFORE TRUNCATE ON holdfast.job FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('jobs are kept: TRUNCATE is refused');

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER guard_truncate;

--
-- Name: job_history history_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_append_only BEFORE UPDATE ON holdfast.job_history FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('history is append-only: UPDATE is refused');

ALTER TABLE holdfast.job_history ENABLE ALWAYS TRIGGER history_is_append_only;

--
-- Name: job_history history_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_kept BEFORE DELETE ON holdfast.job_history FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('history is append-only: DELETE is for retention only');

ALTER TABLE holdfast.job_history ENABLE ALWAYS TRIGGER history_is_kept;

--
-- Name: job_history history_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_not_truncated BEFORE TRUNCATE ON holdfast.job_history FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('history is append-only: TRUNCATE is refused');

ALTER TABLE holdfast.job_history ENABLE ALWAYS TRIGGER history_is_not_truncated;

--
-- Name: job_history_rest history_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_not_truncated BEFORE TRUNCATE ON holdfast.job_history_rest FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('history is append-only: TRUNCATE is refused');

ALTER TABLE holdfast.job_history_rest ENABLE ALWAYS TRIGGER history_is_not_truncated;

--
-- Name: job_history history_is_written_by_moves; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_written_by_moves BEFORE INSERT ON holdfast.job_history FOR EACH STATEMENT WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION holdfast.refuse('history is written by the moves themselves: INSERT is refused');

ALTER TABLE holdfast.job_history ENABLE ALWAYS TRIGGER history_is_written_by_moves;

--
-- Name: job_history_rest history_is_written_by_moves; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER history_is_written_by_moves BEFORE INSERT ON holdfast.job_history_rest FOR EACH STATEMENT WHEN ((pg_trigger_depth() = 0)) EXECUTE FUNCTION holdfast.refuse('history is written by the moves themselves: INSERT is refused');

ALTER TABLE holdfast.job_history_rest ENABLE ALWAYS TRIGGER history_is_written_by_moves;

--
-- Name: job identity_is_immutable; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER identity_is_immutable BEFORE UPDATE OF id, task, payload, tenant, subject, created_at, retry_of, requested_by, key, key_scope, parent_id, compensates ON holdfast.job FOR EACH ROW WHEN ((((((((((((((old.id)::uuid IS DISTINCT FROM (new.id)::uuid) OR ((old.task)::text IS DISTINCT FROM (new.task)::text)) OR ((old.payload)::text IS DISTINCT FROM (new.payload)::text)) OR ((old.tenant)::text IS DISTINCT FROM (new.tenant)::text)) OR ((old.subject)::text IS DISTINCT FROM (new.subject)::text)) OR (old.created_at IS DISTINCT FROM new.created_at)) OR (old.retry_of IS DISTINCT FROM new.retry_of)) OR (old.requested_by IS DISTINCT FROM new.requested_by)) OR ((old.key)::text IS DISTINCT FROM (new.key)::text)) OR ((old.key_scope)::text IS DISTINCT FROM (new.key_scope)::text)) OR (old.parent_id IS DISTINCT FROM new.parent_id)) OR (old.compensates IS DISTINCT FROM new.compensates))) EXECUTE FUNCTION holdfast.refuse('the payload, task, tenant, subject, key and origin of a job never change');

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER identity_is_immutable;

--
-- Name: job record_births; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER record_births AFTER INSERT ON holdfast.job REFERENCING NEW TABLE AS born FOR EACH STATEMENT EXECUTE FUNCTION holdfast.record_births();

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER record_births;

--
-- Name: job record_moves; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER record_moves AFTER UPDATE ON holdfast.job REFERENCING NEW TABLE AS moved FOR EACH STATEMENT EXECUTE FUNCTION holdfast.record_moves();

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER record_moves;

--
-- Name: step step_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_append_only BEFORE UPDATE ON holdfast.step FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('a saved step never changes: UPDATE is refused');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_append_only;

--
-- Name: step step_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_kept BEFORE DELETE ON holdfast.step FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('a saved step is kept: DELETE is for retention only');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_kept;

--
-- Name: step step_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_not_truncated BEFORE TRUNCATE ON holdfast.step FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('saved steps are kept: TRUNCATE is refused');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_not_truncated;

--
-- Name: sleeper sleeper_worker_id_fkey; Type: FK CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.sleeper
    ADD CONSTRAINT sleeper_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES holdfast.worker(id) ON DELETE CASCADE;

--
-- Name: SCHEMA holdfast; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA holdfast TO holdfast_producer;
GRANT USAGE ON SCHEMA holdfast TO holdfast_worker;
GRANT USAGE ON SCHEMA holdfast TO holdfast_api;
GRANT USAGE ON SCHEMA holdfast TO holdfast_viewer;
GRANT USAGE ON SCHEMA holdfast TO holdfast_maint;

--
-- Name: FUNCTION act_as_worker(p_worker uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.act_as_worker(p_worker uuid) FROM PUBLIC;

--
-- Name: FUNCTION actor(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.actor() FROM PUBLIC;

--
-- Name: FUNCTION admit_due(p_limit integer, OUT admitted bigint, OUT next_in double precision); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.admit_due(p_limit integer, OUT admitted bigint, OUT next_in double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.admit_due(p_limit integer, OUT admitted bigint, OUT next_in double precision) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.admit_due(p_limit integer, OUT admitted bigint, OUT next_in double precision) TO holdfast_maint;

--
-- Name: FUNCTION clock(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.clock() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.clock() TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.clock() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.clock() TO holdfast_viewer;

--
-- Name: FUNCTION new_id(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.new_id() FROM PUBLIC;

--
-- Name: TABLE job; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job TO holdfast_api;

--
-- Name: FUNCTION admit_one(p_job holdfast.job, p_now timestamp with time zone, p_full text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.admit_one(p_job holdfast.job, p_now timestamp with time zone, p_full text[]) FROM PUBLIC;

--
-- Name: FUNCTION admit_rated(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.admit_rated(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION admit_waiters(p_held text, p_many integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.admit_waiters(p_held text, p_many integer) FROM PUBLIC;

--
-- Name: FUNCTION apply_retention(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.apply_retention(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION are_strings(p_list jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.are_strings(p_list jsonb) FROM PUBLIC;

--
-- Name: FUNCTION await_rate(p_key text, p_period interval, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.await_rate(p_key text, p_period interval, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION bad_input(p_position bigint, p_problem text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bad_input(p_position bigint, p_problem text) FROM PUBLIC;

--
-- Name: FUNCTION beat(p_worker uuid, p_ids uuid[], p_claim_ids uuid[], OUT alive boolean, OUT lost uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.beat(p_worker uuid, p_ids uuid[], p_claim_ids uuid[], OUT alive boolean, OUT lost uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.beat(p_worker uuid, p_ids uuid[], p_claim_ids uuid[], OUT alive boolean, OUT lost uuid[]) TO holdfast_worker;

--
-- Name: FUNCTION broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) FROM PUBLIC;

--
-- Name: FUNCTION cancel(p_id uuid, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.cancel(p_id uuid, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.cancel(p_id uuid, p_actor text, p_reason text) TO holdfast_api;

--
-- Name: FUNCTION claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone) TO holdfast_worker;

--
-- Name: FUNCTION claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[]) TO holdfast_worker;

--
-- Name: FUNCTION clear_closed(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.clear_closed(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION clear_line(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.clear_line(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION closed_by(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.closed_by(p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]) TO holdfast_worker;

--
-- Name: FUNCTION complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION count_running(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.count_running(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION declare_tasks(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_api;

--
-- Name: FUNCTION definitions(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.definitions(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION drop_empty_history_partitions(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.drop_empty_history_partitions() FROM PUBLIC;

--
-- Name: FUNCTION due_of(p_claim_order timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.due_of(p_claim_order timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION end_overdue(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_overdue(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_api;

--
-- Name: FUNCTION enqueue_many(p_jobs jsonb, p_declared jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_api;

--
-- Name: FUNCTION ensure_history_partition(p_month timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ensure_history_partition(p_month timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION ensure_history_partitions(p_months_ahead integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ensure_history_partitions(p_months_ahead integer) FROM PUBLIC;

--
-- Name: FUNCTION extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb) FROM PUBLIC;

--
-- Name: FUNCTION fall_asleep(p_worker uuid, p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fall_asleep(p_worker uuid, p_queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.fall_asleep(p_worker uuid, p_queues text[]) TO holdfast_worker;

--
-- Name: FUNCTION filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) FROM PUBLIC;

--
-- Name: FUNCTION flag_share(p_flag text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.flag_share(p_flag text) FROM PUBLIC;

--
-- Name: FUNCTION flags_from_environment(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.flags_from_environment(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION follow_up(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.follow_up(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION free_rate_slot(p_key text, p_most integer, p_period interval, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.free_rate_slot(p_key text, p_most integer, p_period interval, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION free_slot(p_key text, p_most integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.free_slot(p_key text, p_most integer) FROM PUBLIC;

--
-- Name: FUNCTION guard_history_partition(p_partition regclass); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.guard_history_partition(p_partition regclass) FROM PUBLIC;

--
-- Name: FUNCTION guard_move(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.guard_move() FROM PUBLIC;

--
-- Name: FUNCTION guard_removal(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.guard_removal() FROM PUBLIC;

--
-- Name: FUNCTION guard_stay(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.guard_stay() FROM PUBLIC;

--
-- Name: FUNCTION has_slot(p_job uuid, p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.has_slot(p_job uuid, p_key text) FROM PUBLIC;

--
-- Name: FUNCTION heal(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.heal(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION hold_facts(p_job uuid, p_held text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hold_facts(p_job uuid, p_held text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.hold_facts(p_job uuid, p_held text) TO holdfast_api;

--
-- Name: FUNCTION hold_fence(p_job uuid, p_attempt integer, p_claim_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hold_fence(p_job uuid, p_attempt integer, p_claim_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION holder_name(p_holder uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.holder_name(p_holder uuid) FROM PUBLIC;

--
-- Name: FUNCTION insert_queues(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.insert_queues(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION is_gated(p_task text, p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_gated(p_task text, p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION is_legal(p_from holdfast.job_status, p_to holdfast.job_status); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) FROM PUBLIC;

--
-- Name: FUNCTION is_terminal(p_status holdfast.job_status); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_viewer;

--
-- Name: FUNCTION job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_api;

--
-- Name: FUNCTION join_limits(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.join_limits(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION join_parents(p_jobs jsonb, p_made jsonb, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.join_parents(p_jobs jsonb, p_made jsonb, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION key_of(p_payload jsonb, p_fields jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.key_of(p_payload jsonb, p_fields jsonb) FROM PUBLIC;

--
-- Name: FUNCTION last_checkpoint(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.last_checkpoint(p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION leave_line(p_job holdfast.job, p_held text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.leave_line(p_job holdfast.job, p_held text) FROM PUBLIC;

--
-- Name: FUNCTION let_out(p_held text, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.let_out(p_held text, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION limit_queue(p_queue text, p_most integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.limit_queue(p_queue text, p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.limit_queue(p_queue text, p_most integer) TO holdfast_api;

--
-- Name: FUNCTION limits_of(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.limits_of(p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION lock_job(p_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_job(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION might_conflict(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.might_conflict(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION note(p_job uuid, p_kind text, p_actor text, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.note(p_job uuid, p_kind text, p_actor text, p_data jsonb) FROM PUBLIC;

--
-- Name: FUNCTION offer_slots(p_keys text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.offer_slots(p_keys text[]) FROM PUBLIC;

--
-- Name: FUNCTION open_again(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_again(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION open_tasks(p_tasks text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_tasks(p_tasks text[]) FROM PUBLIC;

--
-- Name: FUNCTION parked_place(p_due timestamp with time zone, p_created timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.parked_place(p_due timestamp with time zone, p_created timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION pass_gates(p_job holdfast.job, p_now timestamp with time zone, p_full text[], OUT held text, OUT busy boolean, OUT ties integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pass_gates(p_job holdfast.job, p_now timestamp with time zone, p_full text[], OUT held text, OUT busy boolean, OUT ties integer) FROM PUBLIC;

--
-- Name: FUNCTION pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_api;

--
-- Name: FUNCTION pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_api;

--
-- Name: FUNCTION place_in_line(p_due timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.place_in_line(p_due timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: TABLE queue; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.queue TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_api;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_maint;

--
-- Name: FUNCTION queue_is_paused(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.queue_is_paused(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION rates_of(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rates_of(p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION record_births(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.record_births() FROM PUBLIC;

--
-- Name: FUNCTION record_moves(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.record_moves() FROM PUBLIC;

--
-- Name: FUNCTION recover_claim(p_worker uuid, p_claim_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.recover_claim(p_worker uuid, p_claim_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.recover_claim(p_worker uuid, p_claim_id uuid) TO holdfast_worker;

--
-- Name: FUNCTION refuse(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.refuse() FROM PUBLIC;

--
-- Name: FUNCTION refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text) FROM PUBLIC;

--
-- Name: FUNCTION register_tasks(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.register_tasks(p_tasks jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.register_tasks(p_tasks jsonb) TO holdfast_worker;

--
-- Name: FUNCTION register_worker(p_id uuid, p_name text, p_host text, p_pid integer, p_version text, p_queues jsonb, p_tasks text[], p_lease interval, p_its_clock timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.register_worker(p_id uuid, p_name text, p_host text, p_pid integer, p_version text, p_queues jsonb, p_tasks text[], p_lease interval, p_its_clock timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.register_worker(p_id uuid, p_name text, p_host text, p_pid integer, p_version text, p_queues jsonb, p_tasks text[], p_lease interval, p_its_clock timestamp with time zone) TO holdfast_worker;

--
-- Name: FUNCTION release_slots(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.release_slots(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text) FROM PUBLIC;

--
-- Name: FUNCTION resume_queue(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.resume_queue(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.resume_queue(p_queue text) TO holdfast_api;

--
-- Name: FUNCTION resume_task(p_task text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.resume_task(p_task text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.resume_task(p_task text) TO holdfast_api;

--
-- Name: FUNCTION retire_worker(p_worker uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.retire_worker(p_worker uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.retire_worker(p_worker uuid) TO holdfast_worker;

--
-- Name: FUNCTION retry(p_id uuid, p_actor text, p_reason text, p_new_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.retry(p_id uuid, p_actor text, p_reason text, p_new_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.retry(p_id uuid, p_actor text, p_reason text, p_new_id uuid) TO holdfast_api;

--
-- Name: FUNCTION return_jobs(p_worker uuid, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.return_jobs(p_worker uuid, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION rollout_bucket(p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rollout_bucket(p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_viewer;

--
-- Name: FUNCTION rollout_position(p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rollout_position(p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_viewer;

--
-- Name: FUNCTION save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb) FROM PUBLIC;

--
-- Name: FUNCTION save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision) FROM PUBLIC;

--
-- Name: FUNCTION saved_steps(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.saved_steps(p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text) TO holdfast_api;

--
-- Name: FUNCTION settle(p_worker uuid, p_settlements jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.settle(p_worker uuid, p_settlements jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.settle(p_worker uuid, p_settlements jsonb) TO holdfast_worker;

--
-- Name: FUNCTION settle_conflict(p_id uuid, p_wanted jsonb, p_now timestamp with time zone, OUT job_id uuid, OUT created boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.settle_conflict(p_id uuid, p_wanted jsonb, p_now timestamp with time zone, OUT job_id uuid, OUT created boolean) FROM PUBLIC;

--
-- Name: FUNCTION stay_awake(p_worker uuid, p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.stay_awake(p_worker uuid, p_queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.stay_awake(p_worker uuid, p_queues text[]) TO holdfast_worker;

--
-- Name: FUNCTION sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint) TO holdfast_maint;

--
-- Name: TABLE task; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.task TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.task TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.task TO holdfast_api;
GRANT SELECT ON TABLE holdfast.task TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.task TO holdfast_maint;

--
-- Name: FUNCTION task_is_paused(p_task holdfast.task); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.task_is_paused(p_task holdfast.task) FROM PUBLIC;

--
-- Name: FUNCTION tell_followers(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tell_followers(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION unknown_outcome(p_outcome text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unknown_outcome(p_outcome text) FROM PUBLIC;

--
-- Name: FUNCTION unknown_task(p_position bigint, p_task text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unknown_task(p_position bigint, p_task text) FROM PUBLIC;

--
-- Name: FUNCTION upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) TO holdfast_maint;

--
-- Name: FUNCTION uuid_at(p_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_viewer;

--
-- Name: FUNCTION wake(p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wake(p_queues text[]) FROM PUBLIC;

--
-- Name: FUNCTION wanted(p_jobs jsonb, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wanted(p_jobs jsonb, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION with_ids(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.with_ids(p_jobs jsonb) FROM PUBLIC;

--
-- Name: TABLE attempt; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.attempt TO holdfast_api;

--
-- Name: TABLE flag; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.flag TO holdfast_api;

--
-- Name: TABLE job_history; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job_history TO holdfast_api;

--
-- Name: TABLE history_overview; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.history_overview TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.history_overview TO holdfast_api;

--
-- Name: TABLE installed; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.installed TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_api;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_maint;

--
-- Name: TABLE job_overview; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job_overview TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.job_overview TO holdfast_api;

--
-- Name: TABLE rate_slot; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.rate_slot TO holdfast_api;

--
-- Name: TABLE rate_wait; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.rate_wait TO holdfast_api;

--
-- Name: TABLE sleeper; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.sleeper TO holdfast_api;

--
-- Name: TABLE slot; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.slot TO holdfast_api;

--
-- Name: TABLE upkeep; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.upkeep TO holdfast_api;

--
-- Name: TABLE worker; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.worker TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_api;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_maint;

--
-- PostgreSQL database dump complete
--
