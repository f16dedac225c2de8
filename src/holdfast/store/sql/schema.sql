--
-- PostgreSQL database dump
--

--
-- Name: holdfast; Type: SCHEMA; Schema: -; Owner: -
--

CREATE SCHEMA holdfast;

--
-- Name: answer; Type: TYPE; Schema: holdfast; Owner: -
--

CREATE TYPE holdfast.answer AS (
	result text,
	job_id uuid,
	decision text,
	decided_by text,
	decided_at timestamp with time zone,
	reason text,
	approvals integer,
	quorum integer,
	problem text
);

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
-- Name: missed_policy; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.missed_policy AS text
	CONSTRAINT missed_policy_is_known CHECK ((VALUE = ANY (ARRAY['skip'::text, 'one'::text, 'all'::text])));

--
-- Name: name; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.name AS text
	CONSTRAINT name_has_1_to_200_characters CHECK (((VALUE <> ''::text) AND (length(VALUE) <= 200)));

--
-- Name: overlap_policy; Type: DOMAIN; Schema: holdfast; Owner: -
--

CREATE DOMAIN holdfast.overlap_policy AS text
	CONSTRAINT overlap_policy_is_known CHECK ((VALUE = ANY (ARRAY['allow'::text, 'skip'::text, 'replace'::text])));

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
-- Name: acknowledge_stop(uuid, uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.acknowledge_stop(p_worker uuid, p_ids uuid[]) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.let_go(array_agg(j.id::uuid))
    from holdfast.job j
   where j.compensates = any (p_ids) and j.held_by = 'worker:' || p_worker
$$;

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
-- Name: act_for_endpoint(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.act_for_endpoint(p_endpoint text, p_tenant text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select set_config('holdfast.actor', 'webhook:' || p_endpoint, true), set_config('holdfast.tenant', coalesce(p_tenant, '*'), true)
$$;

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
    SET jit TO 'off'
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
  v_parked uuid[] := '{}';
  v_out text[];
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
      v_parked := v_parked || v_job.id::uuid;
    end if;
  end loop;
  v_out := holdfast.pass_on_turns(v_parked);
  v_more := v_more or cardinality(v_out) > 0;
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
    compensates uuid,
    last_holder uuid,
    ready_at timestamp with time zone,
    started_at timestamp with time zone,
    chain bytea
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
    -- Out of the parking and due at once, or due a little later.
    update holdfast.job j
       set held_by = null,
           due_at = case when p_job.held_by is null then p_now + interval '0.2 seconds' else coalesce(j.due_at, p_now) end
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
    SET jit TO 'off'
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
    SET jit TO 'off'
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
    -- It ends here because of so many that wait for something else too: admission goes on with the next of them at once.
    if v_try = p_many + 100 and p_held like 'limit:%' then
      v_queues := v_queues || holdfast.unpark(p_held, 250);
    end if;
  end loop;
  return v_queues;
end $$;

--
-- Name: projection; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.projection (
    only_one boolean DEFAULT true NOT NULL,
    snapshot pg_snapshot DEFAULT '1:1:'::pg_snapshot NOT NULL,
    cluster bigint,
    ran_at timestamp with time zone,
    adopted_at timestamp with time zone DEFAULT '-infinity'::timestamp with time zone NOT NULL,
    channel_floor bigint DEFAULT 0 NOT NULL,
    feed_kept interval DEFAULT '30 days'::interval NOT NULL,
    statistics_kept interval DEFAULT '90 days'::interval NOT NULL,
    CONSTRAINT projection_only_one_check CHECK (only_one)
)
WITH (fillfactor='10');

--
-- Name: adopt_restored(holdfast.projection); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.adopt_restored(p_cursor holdfast.projection) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_xmax bigint := pg_snapshot_xmax(p_cursor.snapshot)::text::bigint;
  v_running bigint[] := holdfast.running_in(p_cursor.snapshot);
  v_ran_at timestamptz := coalesce(p_cursor.ran_at, '-infinity');
begin
  -- One statement, one snapshot: what commits between two would be listed here and found again by its number.
  with listed as (
    insert into holdfast.left_over (at, job_id, seq, activity)
    select h.at, h.job_id, h.seq, null
      from holdfast.job_history h
     where not (h.xid < v_xmax and h.xid <> all (v_running) and h.at <= v_ran_at)
    union all
    select a.at, a.job_id, null, a.id
      from holdfast.activity a
     where not (a.xid < v_xmax and a.xid <> all (v_running) and a.at <= v_ran_at))
  update holdfast.projection p
     set snapshot = holdfast.as_snapshot(
           pg_snapshot_xmax(pg_current_snapshot())::text::bigint,
           holdfast.running_in(pg_current_snapshot()) || pg_current_xact_id()::text::bigint),
         cluster = holdfast.cluster(),
         ran_at = holdfast.clock(),
         adopted_at = holdfast.clock();
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
  -- In any order, ever another: behind a task of which there is always more the others would never have their turn.
  for v_task in select t.name, holdfast.clock() - t.retention as cutoff, t.options ? 'keep_failed' as keeps_failed from holdfast.task t where t.retention is not null order by random() loop
    select array_agg(old.id) into v_ids
      from (select j.id
              from holdfast.job j
             where j.task = v_task.name and j.status <> 'RUNNING'
               and j.id < holdfast.uuid_at(v_task.cutoff)   -- older than it finished: the index narrows it down
               and j.finished_at < v_task.cutoff and not (v_task.keeps_failed and j.status = 'FAILED')
               and not holdfast.is_needed(j.id, j.parent_id)
               and not holdfast.awaits_projection(j.id)   -- or usage would lose what it did
             order by j.id
             limit p_limit - v_count
               for update skip locked) as old;
    -- Looked at once more, by a statement that begins with the locks in hand: who ties itself to a job locks it first, and may
    -- have done so and be gone since the one above began to look. One by one: a join would ask it of every job while its plan is young.
    select array_agg(l.id) into v_ids
      from unnest(v_ids) as l (id)
     cross join lateral (select j.id, j.parent_id from holdfast.job j where j.id = l.id offset 0) as j
     where not holdfast.is_needed(j.id, j.parent_id);
    if v_ids is not null then
      perform holdfast.remove_jobs(v_ids);
      v_count := v_count + cardinality(v_ids);
    end if;
    exit when v_count >= p_limit;
  end loop;
  perform set_config('holdfast.retention', '', true);
  return v_count;
end $$;

--
-- Name: approval_error(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.approval_error(p_type text, p_message text) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN jsonb_build_object('type', p_type, 'kind', 'approval', 'recoverable', false, 'message', p_message);

--
-- Name: approve_together(uuid[], text[], text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.approve_together(p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text DEFAULT NULL::text, p_origin text DEFAULT NULL::text) RETURNS TABLE(approval_id uuid, result text, job_id uuid, decision text, decided_by text, decided_at timestamp with time zone, reason text, approvals integer, quorum integer, problem text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_id uuid;
  v_seen_hash text;
  v_gate holdfast.approval;
  v_answer holdfast.answer;
begin
  perform holdfast.check_words('approve', p_reason, p_origin);
  perform holdfast.check_voter(p_actor);
  if cardinality(p_approvals) > 100 or cardinality(p_approvals) is distinct from cardinality(p_seen_hashes) or array_position(p_seen_hashes, null) is not null then
    raise exception 'at most 100 approvals are given together, each with what was seen of it' using errcode = 'HF005', hint = 'Nothing was decided.';
  end if;
  perform holdfast.lock_jobs(array(select a.job_id from holdfast.approval a where a.id = any (p_approvals)));
  for v_id, v_seen_hash in
    select u.id, u.seen
      from unnest(p_approvals, p_seen_hashes) as u (id, seen)
     order by (select a.job_id from holdfast.approval a where a.id = u.id), u.id
  loop
    v_gate := holdfast.open_approval(v_id);
    if v_gate.id is null then
      v_answer := holdfast.unknown_approval();
    elsif v_gate.decided_at is null and not v_gate.bulk then
      v_answer := holdfast.how_it_stands(v_id, 'refused');
      v_answer.problem := 'its gate does not let it be approved together with others: decide it alone';
    else
      v_answer := holdfast.vote(v_gate, btrim(p_actor), 'person', 'approve', p_reason, p_origin, v_seen_hash);
    end if;
    return query select v_id, (v_answer).*;
  end loop;
end $$;

--
-- Name: are_strings(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.are_strings(p_list jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (jsonb_typeof(p_list) = 'array'::text) THEN (NOT (EXISTS (SELECT FROM jsonb_array_elements(are_strings.p_list) e(value) WHERE (jsonb_typeof(e.value) <> 'string'::text)))) ELSE false END;

--
-- Name: as_snapshot(bigint, bigint[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.as_snapshot(p_xmax bigint, p_running bigint[]) RETURNS pg_snapshot
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select (coalesce(min(x), p_xmax) || ':' || p_xmax || ':' || coalesce(string_agg(x::text, ',' order by x), ''))::pg_snapshot
    from (select distinct x from unnest(p_running) as x where x < p_xmax) as r (x)
$$;

--
-- Name: ask(uuid, integer, uuid, text, text, jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.ask(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_gate jsonb, p_logs jsonb, OUT approval_id uuid, OUT decision text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
  v_asked holdfast.approval;
  v_gate holdfast.approval;
begin
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  select * into v_asked from holdfast.approval a where a.job_id = p_job and a.name = p_name;
  if v_asked.attempt = p_attempt and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id then
    approval_id := v_asked.id;   -- the answer to the first call was lost
    return;
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_gate := holdfast.read_gate(v_job, p_attempt, p_name, p_gate);
  if v_asked.id is null then
    approval_id := v_gate.id;
    perform holdfast.begin_waiting(v_job, v_gate, p_logs);
    return;
  end if;
  approval_id := v_asked.id;
  if v_asked.bound_hash <> v_gate.bound_hash then
    raise exception 'approval % of job % was given for another question, other facts or other approvers than this attempt asks with', quote_literal(p_name), p_job
      using errcode = 'HF021', hint = 'Question and facts must be the same in every attempt: make them from the payload and from saved steps.';
  end if;
  if v_asked.decision is distinct from 'approved' then
    raise exception 'approval % of job % is %, and yet the job runs', quote_literal(p_name), p_job, coalesce(v_asked.decision, 'undecided') using errcode = 'HF001';
  end if;
  decision := holdfast.decision_of(v_asked)::text;
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value)
  values (p_job, p_name, 'approval', p_after, p_attempt, v_asked.asked_at, greatest(holdfast.clock(), v_asked.asked_at), decision::jsonb)
  on conflict do nothing;
end $$;

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
-- Name: awaits_projection(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.awaits_projection(p_job uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_cursor holdfast.projection;
  v_xmax bigint;
  v_running bigint[];
begin
  select * into strict v_cursor from holdfast.projection p;
  v_xmax := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_running := holdfast.running_in(v_cursor.snapshot);
  return v_cursor.cluster is distinct from holdfast.cluster()
      or exists (select from holdfast.job_history h
                  where h.job_id = p_job and (h.xid >= v_xmax or h.xid = any (v_running))
                    and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.job_id = p_job and (a.xid >= v_xmax or a.xid = any (v_running))
                    and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at))
      or exists (select from holdfast.left_over l where l.job_id = p_job);
end $$;

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
    SET jit TO 'off'
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
-- Name: begin_delivery(uuid, integer, uuid, uuid, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid, p_token_hash bytea) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_note holdfast.notification;
  v_asked jsonb;
  v_closed boolean := false;
begin
  select * into v_note from holdfast.notification n where n.id = p_notification;
  if v_note.kind = 'approval' and v_note.state not in ('delivered', 'void') then
    begin
      select to_jsonb(m) || jsonb_build_object('id', v_note.approval_id, 'facts', m.facts::jsonb) into v_asked
        from holdfast.mint_token(v_note.approval_id, v_note.recipient, p_token_hash) as m;
    exception when sqlstate 'HF020' or sqlstate 'HF022' then
      v_closed := true;   -- decided, expired or removed meanwhile: there is nobody to ask
    end;
  end if;
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select * into v_note from holdfast.notification n where n.id = p_notification for no key update;
  if not found or v_note.state in ('delivered', 'void') then
    return null;
  end if;
  update holdfast.notification n
     set job_id = p_job, state = case when v_closed then 'void' else 'waiting' end
   where n.id = p_notification;
  if v_closed then
    return null;
  end if;
  return (select jsonb_build_object('id', v_note.id, 'kind', v_note.kind, 'recipient', v_note.recipient, 'subject', v_note.subject, 'body', v_note.body,
            'priority', v_note.priority, 'created_at', v_note.created_at, 'approval', v_asked,
            'alert', (select to_jsonb(a) from holdfast.alert a where a.id = v_note.alert_id)))::text;
end $$;

--
-- Name: begin_operation(uuid, text, text, integer, text, text, text, text, uuid[], jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_operation(p_id uuid, p_tenant text, p_action text, p_priority integer, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_chunks int := (cardinality(p_jobs) + 499) / 500;
begin
  perform holdfast.require_own(p_tenant, 'an operation');
  if p_action = 'reprioritise' then
    perform holdfast.check_priority(p_priority);
  elsif p_action = 'move' then
    perform holdfast.check_queue(p_queue);
  end if;
  insert into holdfast.operation (id, tenant, action, priority, queue, search, actor, reason, total)
  values (p_id, p_tenant, p_action, p_priority, p_queue, p_search, p_actor, p_reason, cardinality(p_jobs))
  on conflict (id) do nothing;
  if not found then
    return;
  end if;
  insert into holdfast.operation_chunk (operation_id, nth, jobs)
  select p_id, n, p_jobs[(n - 1) * 500 + 1 : n * 500]
    from generate_series(1, v_chunks) as n;
  perform holdfast.enqueue_many(
    jsonb_build_array(jsonb_strip_nulls(jsonb_build_object(
      'id', p_id, 'task', 'holdfast.bulk', 'payload', jsonb_build_object('chunks', v_chunks, 'total', cardinality(p_jobs)),
      'tenant', p_tenant, 'requested_by', p_actor,
      'label', left(format('%s %s jobs%s: %s', p_action, cardinality(p_jobs), ' to ' || coalesce(p_priority::text, p_queue), p_search), 500)))),
    p_declared);
end $$;

--
-- Name: begin_replay(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_replay(p_id uuid, p_actor text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_endpoint text;
  v_tenant text;
  v_replays int;
begin
  update holdfast.webhook_delivery d
     set status = 'handled', error = null, replays = d.replays + 1, replayed_by = p_actor, ended_at = holdfast.clock(),
         jobs = holdfast.jobs_of(d), xid = null
   where d.id = p_id and holdfast.may_touch(d.tenant)
  returning d.endpoint, d.tenant, d.replays into v_endpoint, v_tenant, v_replays;
  if found then
    perform holdfast.act_for_endpoint(v_endpoint, v_tenant);
  end if;
  return v_replays;
end $$;

--
-- Name: begin_request(text, text, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_request(p_tenant text, p_key text, p_digest bytea) RETURNS TABLE(is_same boolean, status integer, answer text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_own(nullif(p_tenant, ''), 'an answer');
  delete from holdfast.request r where r.tenant = p_tenant and r.key = p_key and r.at < holdfast.clock() - interval '24 hours';
  insert into holdfast.request (tenant, key, digest) values (p_tenant, p_key, p_digest) on conflict do nothing;
  if not found then
    return query
      select r.digest = p_digest, r.status, r.answer from holdfast.request r where r.tenant = p_tenant and r.key = p_key;
  end if;
end $$;

--
-- Name: begin_session(text, text, text, bytea, bytea, bytea, text, text[], integer[], interval[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_session(p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text, p_buckets text[], p_tries integer[], p_periods interval[]) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: approval; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.approval (
    id uuid DEFAULT holdfast.new_id() NOT NULL,
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    name holdfast.long_name NOT NULL,
    question text NOT NULL,
    facts jsonb NOT NULL,
    approvers text[] NOT NULL,
    quorum smallint NOT NULL,
    requester text,
    self_approval boolean NOT NULL,
    bound_hash text NOT NULL,
    asked_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    on_expiry text NOT NULL,
    wrong_tries timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL,
    decided_at timestamp with time zone,
    decision text,
    decided_by text,
    decided_from text,
    reason text,
    bulk boolean DEFAULT false NOT NULL,
    CONSTRAINT approval_decision_has_a_time_and_a_name CHECK ((((decision IS NULL) = (decided_at IS NULL)) AND ((decision IS NULL) = (decided_by IS NULL)))),
    CONSTRAINT approval_decision_is_known CHECK ((decision = ANY (ARRAY['approved'::text, 'denied'::text, 'expired'::text, 'cancelled'::text]))),
    CONSTRAINT approval_facts_are_an_object CHECK ((jsonb_typeof(facts) = 'object'::text)),
    CONSTRAINT approval_on_expiry_is_known CHECK ((on_expiry = ANY (ARRAY['fail'::text, 'deny'::text, 'approve'::text]))),
    CONSTRAINT approval_question_has_1_to_2000_characters CHECK (((question <> ''::text) AND (length(question) <= 2000))),
    CONSTRAINT approval_quorum_is_1_to_100 CHECK (((quorum >= 1) AND (quorum <= 100)))
)
WITH (fillfactor='70');

--
-- Name: begin_waiting(holdfast.job, holdfast.approval, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_waiting(p_job holdfast.job, p_gate holdfast.approval, p_logs jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_name text := holdfast.holder_name(p_job.holder);
  v_actor text := current_setting('holdfast.actor', true);
begin
  insert into holdfast.approval (id, job_id, attempt, name, question, facts, approvers, quorum, requester, self_approval, bulk, bound_hash,
                                 asked_at, expires_at, on_expiry)
  values (p_gate.id, p_gate.job_id, p_gate.attempt, p_gate.name, p_gate.question, p_gate.facts, p_gate.approvers, p_gate.quorum,
          p_gate.requester, p_gate.self_approval, p_gate.bulk, p_gate.bound_hash, p_gate.asked_at, p_gate.expires_at, p_gate.on_expiry);
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'WAITING_FOR_APPROVAL', approval_id = p_gate.id, holder = null, deadline_at = null, claim_order = null, due_at = null,
         held_by = null, suspect = false, reason = 'asks for approval ' || p_gate.name
   where j.id = p_job.id;
  perform holdfast.keep_logs(p_job, v_name, 'waiting', p_logs);
  -- Neither the question nor the approvers: the feed's readers may not know what people are asked.
  perform holdfast.note(p_job.id, 'approval.asked', v_name, jsonb_strip_nulls(jsonb_build_object('approval', p_gate.id, 'name', p_gate.name,
            'quorum', p_gate.quorum, 'expires_at', p_gate.expires_at)));
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);
end $$;

--
-- Name: begin_webhook(uuid, text, text, text, text, text, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.begin_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_id uuid;
begin
  perform holdfast.act_for_endpoint(p_endpoint, p_tenant);
  insert into holdfast.webhook_delivery as d (id, endpoint, event_id, type, tenant, status, body, xid)
  values (p_id, p_endpoint, p_event_id, p_type, p_tenant, p_status, p_body, pg_current_xact_id()::text::bigint)
  on conflict on constraint webhook_event_is_handled_once do update
     set status = excluded.status, type = excluded.type, tenant = excluded.tenant, body = excluded.body, error = null,
         tries = d.tries + 1, ended_at = excluded.ended_at, xid = excluded.xid
   where d.status = 'failed'
  returning d.id into v_id;
  return v_id;
end $$;

--
-- Name: bind_to_tenants(regclass, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bind_to_tenants(p_table regclass, p_own text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_everybody text := case when holdfast.can_step_out() then 'holdfast_viewer' else 'holdfast_viewer, holdfast_api' end;
  v_says text := format('%s; * for %s', p_own, v_everybody);
begin
  if not holdfast.has_roles() then
    return;   -- whoever owns everything is bound by nothing
  end if;
  if (select c.relrowsecurity from pg_class c where c.oid = p_table)
     and v_says = (select obj_description(p.oid, 'pg_policy') from pg_policy p where p.polrelid = p_table and p.polname = 'own_rows') then
    return;
  end if;
  execute format('drop policy if exists own_rows on %s', p_table);
  execute format('drop policy if exists all_rows on %s', p_table);
  execute format('drop policy if exists all_rows_when_asked on %s', p_table);
  execute format('create policy own_rows on %s for select to holdfast_api, holdfast_viewer using (%s)', p_table, p_own);
  execute format('create policy all_rows_when_asked on %s for select to %s using (holdfast.seen_tenant() = ''*'')', p_table, v_everybody);
  if holdfast.can_step_out() then
    execute format('create policy all_rows on %s for select to holdfast_unbound using (true)', p_table);
  end if;
  execute format('comment on policy own_rows on %s is %L', p_table, v_says);
  execute format('alter table %s enable row level security', p_table);
end $$;

--
-- Name: bound_hash(uuid, jsonb, text, text, jsonb, text[], integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bound_hash(p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN encode(sha256(convert_to((jsonb_build_object('job', p_job, 'payload', p_payload, 'name', p_name, 'question', p_question, 'facts', p_facts, 'approvers', to_jsonb(p_approvers), 'quorum', p_quorum))::text, 'UTF8'::name)), 'hex'::text);

--
-- Name: bound_tenant(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bound_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(NULLIF(current_setting('holdfast.tenant'::text, true), ''::text), '*'::text);

--
-- Name: broken_rule(holdfast.job_status, uuid, timestamp with time zone, timestamp with time zone, text, timestamp with time zone, timestamp with time zone, uuid, jsonb, jsonb, integer, integer, text, text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((p_status = 'RUNNING'::holdfast.job_status) <> (p_holder IS NOT NULL)) THEN 'a job has a holder exactly while it is RUNNING'::text WHEN ((p_status = ANY (ARRAY['RUNNING'::holdfast.job_status, 'COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) AND ((p_claim_order IS NOT NULL) OR (p_due_at IS NOT NULL) OR (p_held_by IS NOT NULL))) THEN 'a job that runs or has ended is not in line, not due and not held back'::text WHEN ((p_status = 'RETRY'::holdfast.job_status) AND (p_due_at IS NULL)) THEN 'RETRY needs a time: due_at'::text WHEN ((p_status = 'PENDING'::holdfast.job_status) AND (p_claim_order IS NULL) AND (p_due_at IS NULL) AND (p_held_by IS NULL)) THEN 'a PENDING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'::text WHEN ((p_status = 'WAITING'::holdfast.job_status) AND (p_claim_order IS NULL) AND (p_due_at IS NULL) AND (p_held_by IS NULL)) THEN 'a WAITING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'::text WHEN ((p_deadline_at IS NOT NULL) AND (p_status <> 'RUNNING'::holdfast.job_status)) THEN 'only a RUNNING job has a deadline'::text WHEN ((p_status = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status])) <> (p_finished_at IS NOT NULL)) THEN 'a job has finished_at exactly when it has ended'::text WHEN ((p_status = 'WAITING_FOR_APPROVAL'::holdfast.job_status) <> (p_approval_id IS NOT NULL)) THEN 'a job has an approval exactly while it is WAITING_FOR_APPROVAL'::text WHEN ((p_status = 'FAILED'::holdfast.job_status) AND (p_error IS NULL)) THEN 'FAILED needs an error'::text WHEN (jsonb_typeof(p_error) <> 'object'::text) THEN 'an error is a JSON object'::text WHEN ((p_result IS NOT NULL) AND (p_status <> 'COMPLETED'::holdfast.job_status)) THEN 'only a COMPLETED job has a result'::text WHEN ((p_retry_count < 0) OR (p_retry_count > p_max_retries)) THEN 'retry_count stays between 0 and max_retries'::text WHEN (((p_key IS NULL) <> (p_key_scope IS NULL)) OR ((p_key IS NULL) AND p_key_held)) THEN 'a key has a scope, and only a key can be held'::text ELSE NULL::text END;

--
-- Name: bucket_floor(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bucket_floor(p_bucket integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (p_bucket <= 0) THEN (0)::double precision ELSE (((2)::double precision ^ ((((p_bucket - 1))::numeric / 4.0))::double precision) / (1000)::double precision) END;

--
-- Name: bucket_middle(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bucket_middle(p_bucket integer) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (p_bucket <= 0) THEN (0.0005)::double precision ELSE (((2)::double precision ^ ((((p_bucket)::numeric - 0.5) / 4.0))::double precision) / (1000)::double precision) END;

--
-- Name: bucket_of(interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.bucket_of(p_span interval) RETURNS smallint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (CASE WHEN (p_span IS NOT NULL) THEN LEAST(GREATEST((floor((((4)::double precision * ln(GREATEST((date_part('epoch'::text, p_span) * (1000)::double precision), (0.5)::double precision))) / (0.6931471805599453)::double precision)) + (1)::double precision), (0)::double precision), (127)::double precision) ELSE NULL::double precision END)::smallint;

--
-- Name: callback(uuid, integer, uuid, text, text, text, bytea, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET lock_timeout TO '2s'
    AS $$   -- whoever reports tries again; a queue of them would take all connections
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
  v_kept holdfast.callback_nonce;
  v_answer text;
begin
  if p_action is null or p_action not in ('started', 'heartbeat', 'progress', 'completed', 'failed') then
    raise exception 'callback % is not one of started, heartbeat, progress, completed, failed', quote_nullable(p_action) using errcode = 'HF005';
  end if;
  select * into v_job from holdfast.job j where j.id = p_job for no key update;
  -- By the executor too: one that may sign for itself learns nothing of the jobs of others.
  select * into v_run
    from holdfast.dispatch d
   where d.job_id = p_job and d.attempt = p_attempt and d.claim_id = p_claim_id and d.executor = p_executor
     for no key update;
  if not found or not holdfast.may_touch(v_job.tenant) then
    return 'not_found';
  end if;
  select * into v_kept from holdfast.callback_nonce n where n.job_id = p_job and n.nonce = p_nonce;
  if found then
    return case when v_kept.body_hash = p_body_hash then v_kept.answer else 'nonce_reused' end;
  end if;
  v_answer := holdfast.judge_callback(v_job, v_run, p_data ->> 'run_id');
  if v_answer = 'ok' then
    perform holdfast.obey_callback(v_job, v_run, p_action, p_data);
  elsif v_answer <> 'other_run' and p_action in ('completed', 'failed') then
    perform holdfast.release_after_run(v_run);
  end if;
  if p_nonce is not null then
    insert into holdfast.callback_nonce (job_id, nonce, body_hash, answer, at)
    values (p_job, p_nonce, p_body_hash, v_answer, holdfast.clock());
  end if;
  return v_answer;
end $$;

--
-- Name: can_step_out(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.can_step_out() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.has_roles() and holdfast.may_act_as('holdfast_api', 'holdfast_unbound')
$$;

--
-- Name: cancel(uuid, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.cancel(p_id uuid, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS holdfast.job_status
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_job holdfast.job;
begin
  perform holdfast.lock_jobs(array[p_id], null, array(select m from holdfast.moved_with(array[p_id]) as m));
  v_job := holdfast.lock_job(p_id);
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
-- Name: alert_rule; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.alert_rule (
    name holdfast.name NOT NULL,
    kind text NOT NULL,
    task holdfast.name,
    queue holdfast.name,
    tenant holdfast.name,
    threshold double precision,
    period interval,
    "least" bigint DEFAULT 1 NOT NULL,
    severity text NOT NULL,
    channels text[] NOT NULL,
    enabled boolean DEFAULT true NOT NULL,
    app text NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    CONSTRAINT alert_period_is_positive CHECK ((period > '00:00:00'::interval)),
    CONSTRAINT alert_rule_kind_is_known CHECK ((kind = ANY (ARRAY['failures'::text, 'success_rate'::text, 'oldest_wait'::text, 'no_worker'::text, 'approval_overdue'::text, 'schedule_missed'::text, 'callback_silent'::text, 'job_failed'::text, 'compensation_failed'::text]))),
    CONSTRAINT alert_severity_is_known CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'critical'::text])))
);

--
-- Name: causes(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.causes(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  case p_rule.kind
    when 'failures' then return query select * from holdfast.too_many_failures(p_rule, p_now);
    when 'success_rate' then return query select * from holdfast.low_success_rates(p_rule, p_now);
    when 'oldest_wait' then return query select * from holdfast.long_waits(p_rule, p_now);
    when 'no_worker' then return query select * from holdfast.unserved_queues(p_rule, p_now);
    when 'approval_overdue' then return query select * from holdfast.overdue_approvals(p_rule, p_now);
    when 'schedule_missed' then return query select * from holdfast.missed_schedules(p_rule, p_now);
    when 'callback_silent' then return query select * from holdfast.silent_runs(p_rule, p_now);
    when 'job_failed' then return query select * from holdfast.further_failures(p_rule, p_now);
    when 'compensation_failed' then return query select * from holdfast.failed_compensations(p_rule, p_now);
  end case;
end $$;

--
-- Name: channel_tenant(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.channel_tenant(p_channel text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN starts_with(p_channel, 'tenant:'::text) THEN substr(p_channel, 8) ELSE NULL::text END;

--
-- Name: check_after(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_after(p_jobs jsonb) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
begin
  if p_jobs @? '$[*].after[*] ? (!(@ like_regex "^[0-9a-fA-F]{8}(-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}$"))' then
    raise exception 'after must be a list of job ids' using errcode = 'HF005', hint = 'Nothing was enqueued.';
  end if;
end $_$;

--
-- Name: check_priority(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_priority(p_priority integer) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_priority is null or p_priority not between -100 and 100 then
    raise exception 'a priority is -100 to 100, not %', coalesce(p_priority::text, 'null') using errcode = 'HF005';
  end if;
end $$;

--
-- Name: check_queue(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_queue(p_queue text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_queue is null or p_queue = 'holdfast'
     or not (exists (select from holdfast.queue q where q.name = p_queue)
             or exists (select from holdfast.worker w where w.died_at is null and w.queues ? p_queue)) then
    raise exception 'jobs cannot be moved to %: %', quote_nullable(left(p_queue, 200)),
        case when p_queue = 'holdfast' then 'it is Holdfast''s own queue' else 'no task declares this queue, and no worker serves it' end
      using errcode = 'HF005', hint = 'holdfast queue list shows the queues.';
  end if;
end $$;

--
-- Name: check_run(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_run(p_job uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
  v_fault jsonb;
begin
  if current_setting('transaction_read_only') = 'on' then
    return false;   -- the next sweep finds it
  end if;
  select * into v_job from holdfast.job j where j.id = p_job and j.status = 'RUNNING' and holdfast.may_touch(j.tenant) for no key update skip locked;
  if not found then
    return false;
  end if;
  select * into v_run from holdfast.dispatch d where d.id = v_job.holder for no key update;
  v_fault := holdfast.run_fault(v_run);
  if v_fault is null then
    return false;
  end if;
  perform holdfast.fail_run(v_job, v_run, v_fault, v_fault ->> 'message', 'sweeper', true);
  return true;
end $$;

--
-- Name: check_runs(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_runs(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job uuid;
  v_ended bigint := 0;
begin
  for v_job in
    select d.job_id
      from holdfast.dispatch d
     where d.state = 'sent' and holdfast.run_fault(d) is not null
     order by d.job_id
     limit p_limit
  loop
    v_ended := v_ended + holdfast.check_run(v_job)::int;
  end loop;
  return v_ended;
end $$;

--
-- Name: check_voter(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_voter(p_actor text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if coalesce(length(btrim(p_actor)), 0) not between 1 and 200 or holdfast.person(p_actor) = 'system' then
    raise exception 'an approval is decided by somebody: % is nobody''s name', quote_nullable(left(p_actor, 200)) using errcode = 'HF005';
  end if;
end $$;

--
-- Name: check_words(text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.check_words(p_decision text, p_reason text, p_origin text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_decision is null or p_decision not in ('approve', 'deny') then
    raise exception 'decision % is not approve or deny', quote_nullable(p_decision) using errcode = 'HF005';
  end if;
  if length(p_reason) > 2000 or length(p_origin) > 500 then
    raise exception 'a reason has at most 2,000 characters, an origin at most 500' using errcode = 'HF005', hint = 'Nothing was decided.';
  end if;
end $$;

--
-- Name: claim(uuid, uuid, text, text[], integer, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone DEFAULT '-infinity'::timestamp with time zone) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_now timestamptz;
  -- What came into the line before its queue had a limit holds no slot yet.
  v_needs_slots boolean := exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null);
  v_known holdfast.ring;
  v_turn holdfast.turn;
  v_tenant text;
  v_used int;
  v_tenants text[];
  v_heads timestamptz[];
  v_shares int[];
  v_has_tenants boolean;
  v_is_whole boolean;
  v_began timestamptz;
  v_walked bigint := 0;
  v_left bigint := p_limit;
  v_count bigint;
  v_said bytea;
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  if holdfast.queue_is_paused(p_queue) or cardinality(p_tasks) = 0 then
    return;
  end if;
  perform holdfast.act_as_worker(p_worker);
  if v_needs_slots and not (select q.cleared from holdfast.queue q where q.name = p_queue) then
    return query select * from holdfast.claim_by_slots(p_worker, p_claim_id, p_queue, p_tasks, p_limit);
    return;
  end if;
  v_now := holdfast.clock();
  v_said := holdfast.said('RUNNING', v_now, pg_current_xact_id()::text::bigint, holdfast.actor(), null, null);
  select r.* into v_known from holdfast.ring r where r.queue = p_queue and r.until > v_now;
  loop
    v_began := holdfast.clock();
    v_walked := pg_stat_get_xact_tuples_returned('holdfast.job_in_line'::regclass);
    v_has_tenants := case when v_known.queue is not null then v_known.tenants <> '{}'
                          else exists (select from holdfast.job j
                                        where j.queue = p_queue and coalesce(j.tenant, '') > '' and j.claim_order is not null and not j.suspect)
                     end;
    if v_has_tenants then
      if v_tenant is null then
        select t.* into v_turn from holdfast.turn t where t.queue = p_queue;
        v_tenant := coalesce(v_turn.tenant, '');
        v_used := coalesce(v_turn.used, 0);
      end if;
      select n.tenants, n.heads, n.shares, n.tenant, n.used, n.is_whole
        into v_tenants, v_heads, v_shares, v_tenant, v_used, v_is_whole
        from holdfast.next_turns(p_queue, v_left::int, p_after, v_count = 0, v_known, v_tenant, v_used) as n;
    else
      v_tenants := array[''];
      v_heads := array[p_after];
      v_shares := array[v_left];
      v_is_whole := true;
    end if;
    v_walked := pg_stat_get_xact_tuples_returned('holdfast.job_in_line'::regclass) - v_walked - cardinality(v_tenants);
    if v_known.queue is null and v_walked > 1000 then   -- entries of dead rows that a snapshot keeps
      perform holdfast.keep_ring(p_queue, holdfast.clock() - v_began);
    end if;
    return query
    with taken as materialized (
      select line.id, line.claim_order
        from unnest(v_tenants, v_heads, v_shares) as t (name, head, share)
       cross join lateral (
         select j.id, j.claim_order
           from holdfast.job j
          where j.queue = p_queue and coalesce(j.tenant, '') = t.name and j.claim_order >= t.head and not j.suspect and j.task = any (p_tasks)
            and (not v_needs_slots or holdfast.has_slot(j.id, 'queue:' || p_queue))
          order by j.claim_order, j.id
          limit t.share
            for no key update skip locked) as line
       limit v_left)
    update holdfast.job j
       set status = 'RUNNING', came_from = j.status, seq = j.seq + 1, attempt = j.attempt + 1, updated_at = v_now,
           ready_at = holdfast.ready_since(j.claim_order, j.priority), started_at = v_now, claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
           deadline_at = v_now + j.timeout + interval '10 seconds',
           -- A history that tells of an approval is guard_move's to link, which is called where the chain stays as it is; so is one from
           -- before there were chains.
           chain = case when j.status = 'WAITING_FOR_APPROVAL' then j.chain
                        else holdfast.linked(j.chain, holdfast.ready_since(j.claim_order, j.priority), v_said) end
      from taken
     where j.id = any (array[taken.id::uuid])
       and coalesce(j.claim_order, 'infinity') < 'infinity'   -- again, and opaque: the planner must not drive the join from the line
    returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
              extract(epoch from j.timeout)::float8,
              holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates);
    get diagnostics v_count = row_count;
    v_left := v_left - v_count;
    exit when v_left <= 0 or (v_known.queue is null and v_is_whole and (v_count = 0 or not v_has_tenants));
    v_known := null;   -- what those have not, others may have
  end loop;
  if (v_tenant, v_used) is distinct from (v_turn.tenant, v_turn.used) then
    perform holdfast.keep_turn(p_queue, v_tenant, v_used);
  end if;
end $$;

--
-- Name: claim_by_slots(uuid, uuid, text, text[], integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.claim_by_slots(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
  with slotted as materialized (
    select s.job_id from holdfast.slot s where s.key = 'queue:' || p_queue and s.n is not null),
  taken as materialized (
    select j.id, j.claim_order
      from slotted s
      join holdfast.job j on j.id = any (array[s.job_id])
     where coalesce(j.claim_order, 'infinity') < 'infinity' and j.queue::text || '' = p_queue and coalesce(j.suspect, true) = false
       and j.task::text || '' = any (p_tasks)
     order by j.claim_order, j.id
     limit p_limit
       for no key update of j skip locked)
  update holdfast.job j
     set status = 'RUNNING', claim_order = null, due_at = null, approval_id = null, holder = p_worker, claim_id = p_claim_id, reason = null,
         deadline_at = holdfast.clock() + j.timeout + interval '10 seconds'
    from taken
   where j.id = any (array[taken.id::uuid])
     and coalesce(j.claim_order, 'infinity') < 'infinity'
  returning j.id::uuid, j.task::text, j.payload::text, j.attempt, taken.claim_order, j.retry_count, j.max_retries::smallint, j.tenant::text, j.subject::text,
            extract(epoch from j.timeout)::float8,
            holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates)
$$;

--
-- Name: claim_suspect(uuid, uuid, text[], text[], boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[], p_runs_on boolean DEFAULT false) RETURNS TABLE(id uuid, task text, payload text, attempt integer, claim_order timestamp with time zone, retry_count smallint, max_retries smallint, tenant text, subject text, timeout double precision, extras text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
begin
  p_tasks := holdfast.open_tasks(p_tasks);
  update holdfast.worker w   -- before the job, as the sweeper locks them
     set runs_on = p_runs_on
   where w.id = p_worker and w.runs_on <> p_runs_on;
  perform holdfast.act_as_worker(p_worker);   -- behind it: who waited there for a sweep may have died meanwhile
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
    SET jit TO 'off'
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
        (select j.*
           from holdfast.job j
          where j.queue = q.name and j.claim_order is not null and not j.suspect
          limit 10000)
        union all
        (select j.*
           from holdfast.job j
          where j.queue = q.name and j.claim_order is not null and j.suspect
          limit 10000)) as h
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
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_gated text[] := array(select t.name::text from holdfast.task t where t.options ?| array['limits', 'rates', 'flag']);
  v_limited text[] := array(select q.name::text from holdfast.queue q where q.job_limit is not null);
  v_job holdfast.job;
  v_queue text;
  v_found text[] := '{}';
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
     where (h.ties & 1 = 0 and h.task = any (v_gated) and h.compensates is null)
        or (h.queue = any (v_limited) and not holdfast.has_slot(h.id, 'queue:' || h.queue))
     limit p_limit
  loop
    v_found := v_found || v_job.queue::text;
    perform from holdfast.job j where j.id = v_job.id and j.claim_order = v_job.claim_order for no key update skip locked;
    continue when not found;
    perform holdfast.leave_line(v_job, null);
    v_count := v_count + 1;
  end loop;
  foreach v_queue in array v_limited loop
    if v_queue = any (v_found) or cardinality(v_found) < p_limit then
      perform holdfast.note_cleared(v_queue, v_queue <> all (v_found));
    end if;
    perform holdfast.count_running(v_queue);
  end loop;
  return v_count;
end $$;

--
-- Name: close_alerts(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.close_alerts(p_now timestamp with time zone) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_closed uuid[];
begin
  with gone as materialized (
    select a.id
      from holdfast.alert a
      left join holdfast.alert_rule r on r.name = a.rule and r.enabled
     where a.closed_at is null
       and (r.name is null or a.last_seen_at < p_now - case r.kind when 'job_failed' then r.period else interval '1 minute' end)
     order by a.rule, a.about
       for no key update of a skip locked),
  shut as (
    update holdfast.alert a set closed_at = p_now from gone g where a.id = g.id and a.closed_at is null returning a.id)
  select array_agg(s.id) into v_closed from shut s;
  perform holdfast.tell_of_alert(c.id, 'resolved') from unnest(v_closed) as c (id);
  return coalesce(cardinality(v_closed), 0);
end $$;

--
-- Name: close_approvals(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.close_approvals(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  update holdfast.approval a
     set decided_at = holdfast.clock(), decision = 'cancelled', decided_by = holdfast.actor(),
         reason = (select j.reason from holdfast.job j where j.id = a.job_id)
   where a.job_id = any (p_ids) and a.decided_at is null
     and (select j.status = 'CANCELLED' from holdfast.job j where j.id = a.job_id);
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
  if v_task.options ? 'flag' and p_job.compensates is null then   -- what a rollout let in, it lets be undone
    v_share := holdfast.flag_share(v_task.options ->> 'flag');
    if v_share < 100
       and holdfast.rollout_position(coalesce(p_job.payload ->> (v_task.options ->> 'rollout_by'), p_job.id::text)) >= v_share then
      return 'flag:' || (v_task.options ->> 'flag') || ':' || v_share;
    end if;
  end if;
  return null;
end $$;

--
-- Name: closed_detail(holdfast.approval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.closed_detail(p_gate holdfast.approval) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (jsonb_build_object('approval', (p_gate).id, 'decision', (p_gate).decision, 'by', (p_gate).decided_by, 'at', (p_gate).decided_at))::text;

--
-- Name: cluster(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.cluster() RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if not has_function_privilege('pg_catalog.pg_control_system()', 'execute') then
    return null;
  end if;
  return (select c.system_identifier from pg_control_system() as c);
end $$;

--
-- Name: compensate(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.compensate(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with ended as materialized (   -- one by one, as tell_followers does
    select p.*
      from unnest(p_ids) as i (id)
      cross join lateral (select j.* from holdfast.job j where j.id = i.id limit 1) as p),
  undone as materialized (
    select j.id, j.task, j.queue, j.priority, j.tenant, j.subject, j.label, j.requested_by, j.trace_parent, j.tags, j.metadata, j.payload, j.timeout,
           j.status, coalesce((o.options ->> 'compensation_retries')::int, 10) as retries,
           coalesce(holdfast.still_held(j.last_holder), holdfast.running_on(j.id, j.last_holder)) as held_by
      from ended j
      cross join lateral (select (select t.options from holdfast.task t where t.name = j.task) as options) as o
     where j.compensates is null and j.attempt > 0
       and (j.status = 'FAILED' or (j.status = 'CANCELLED' and (o.options ->> 'compensate_on_cancel')::boolean))
       and ((o.options ->> 'compensate')::boolean
            or exists (select from holdfast.step s where s.job_id = j.id and s.undoable))
     order by j.id),
  born as (
    insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, ties, compensates, priority, max_retries, task, queue, tenant,
           subject, reason, label, requested_by, trace_parent, timeout, tags, metadata, payload)
    select holdfast.new_id(), v_now, v_now, case when u.held_by is null then holdfast.place_in_line(v_now, u.priority) end,
           -- What runs it may never say that it has stopped: ten minutes are enough for anybody.
           case when u.held_by is not null then v_now + interval '10 minutes' end, u.held_by, 2, u.id, u.priority, u.retries, u.task, u.queue, u.tenant,
           u.subject, format('undoes job %s, which is %s', u.id, u.status), u.label, u.requested_by, u.trace_parent, u.timeout, u.tags, u.metadata, u.payload
      from undone u
    returning case when claim_order is not null then queue end::text as wakes)
  select array_agg(distinct b.wakes) into v_queues from born b;
  perform holdfast.wake(v_queues);
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
    SET jit TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_done bigint;
  v_name text;
  v_now timestamptz := holdfast.clock();
  v_xid bigint := pg_current_xact_id()::text::bigint;
  v_actor text;
  v_said bytea;
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  perform set_config('holdfast.actor', coalesce(v_name, p_worker::text), true);
  v_actor := holdfast.actor();
  v_said := holdfast.said('COMPLETED', v_now, v_xid, v_actor, null, null);
  -- Nested loops only, from the sorted outcomes: rows are locked in the order of their ids, as everywhere, so that two
  -- finishers with common jobs wait for each other and do not deadlock.
  update holdfast.job j
     set status = 'COMPLETED', came_from = 'RUNNING', seq = j.seq + 1, updated_at = v_now, finished_at = v_now,
         result = o.result::jsonb, holder = null, deadline_at = null, suspect = false,
         chain = holdfast.linked(j.chain, j.started_at,
                   case when j.reason is null then v_said else holdfast.said('COMPLETED', v_now, v_xid, v_actor, j.reason, null) end)
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
    perform holdfast.forget_log_parts(array_agg(o.id), array_agg(o.attempt))
       from unnest(p_ids, p_attempts, p_logs) as o (id, attempt, logs)
      where o.logs is not null
     having count(*) > 0;
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
  perform holdfast.keep_logs(v_job, v_name, 'completed', p_logs);
  -- What hangs on the job was perhaps another's to lock, who was frozen. Whoever was declared dead while it waited for that is frozen too,
  -- and would keep the job in silence for one more lease, and the next of its kind for another.
  if exists (select from holdfast.worker w where w.id = v_job.holder and w.died_at is not null) then
    raise exception 'attempt % no longer owns job %: its worker was declared dead', p_attempt, p_job
      using errcode = 'HF011', detail = jsonb_build_object('job', p_job, 'attempt', p_attempt, 'status', v_job.status)::text;
  end if;
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);   -- what follows in the caller's transaction is not ours
end $$;

--
-- Name: dispatch; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.dispatch (
    id uuid DEFAULT gen_random_uuid() NOT NULL,
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    claim_id uuid NOT NULL,
    executor holdfast.name NOT NULL,
    inputs holdfast."json_object" NOT NULL,
    state text DEFAULT 'planned'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    next_try_at timestamp with time zone,
    tries integer DEFAULT 0 NOT NULL,
    doubtful boolean DEFAULT false NOT NULL,
    taken_by uuid,
    sent_at timestamp with time zone,
    started_at timestamp with time zone,
    seen_at timestamp with time zone,
    over_at timestamp with time zone,
    run_ref text,
    run_id text,
    run_url text,
    heartbeat_limit interval NOT NULL,
    run_limit interval NOT NULL,
    retry_in interval NOT NULL,
    cancel_wanted_at timestamp with time zone,
    cancelled_at timestamp with time zone,
    cancel_tries integer DEFAULT 0 NOT NULL,
    ended_at timestamp with time zone,
    error jsonb,
    logs jsonb,
    CONSTRAINT dispatch_state_is_known CHECK ((state = ANY (ARRAY['planned'::text, 'calling'::text, 'sent'::text, 'over'::text]))),
    CONSTRAINT heartbeat_limit_is_positive CHECK ((heartbeat_limit > '00:00:00'::interval)),
    CONSTRAINT retry_in_is_not_negative CHECK ((retry_in >= '00:00:00'::interval)),
    CONSTRAINT run_limit_is_positive CHECK ((run_limit > '00:00:00'::interval))
)
WITH (fillfactor='70');

--
-- Name: complete_run(holdfast.job, holdfast.dispatch, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.complete_run(p_job holdfast.job, p_run holdfast.dispatch, p_result jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_before text := current_setting('holdfast.actor', true);
begin
  perform holdfast.end_dispatch(p_run.id, false);
  perform set_config('holdfast.actor', 'executor:' || p_run.executor, true);
  update holdfast.job j
     set status = 'COMPLETED', result = p_result, holder = null, deadline_at = null, suspect = false, reason = 'run ' || p_run.run_id
   where j.id = p_job.id;
  perform holdfast.keep_attempt(p_run, 'completed', null);
  perform set_config('holdfast.actor', coalesce(v_before, ''), true);
end $$;

--
-- Name: conclude(holdfast.approval, text, text, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.conclude(p_gate holdfast.approval, p_decision text, p_who text, p_origin text, p_reason text, p_error jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_actor text := current_setting('holdfast.actor', true);
  v_queue text;
begin
  update holdfast.approval a
     set decided_at = v_now, decision = p_decision, decided_by = p_who, decided_from = p_origin, reason = p_reason
   where a.id = p_gate.id and a.decided_at is null;
  perform set_config('holdfast.actor', p_who, true);
  perform holdfast.note(p_gate.job_id, 'approval.decided', p_who, jsonb_build_object('approval', p_gate.id, 'name', p_gate.name, 'decision', p_decision));
  if p_decision = 'approved' then
    update holdfast.job j
       set claim_order = case when j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
           due_at = case when j.ties & 1 = 1 then v_now end, held_by = null, reason = 'approved by ' || p_who
     where j.id = p_gate.job_id and j.status = 'WAITING_FOR_APPROVAL' and j.approval_id = p_gate.id
    returning j.queue into v_queue;
    perform holdfast.wake(array[v_queue]);
  else
    update holdfast.job j
       set status = 'FAILED', approval_id = null, claim_order = null, due_at = null, held_by = null, error = p_error, reason = p_reason
     where j.id = p_gate.job_id and j.status = 'WAITING_FOR_APPROVAL' and j.approval_id = p_gate.id;
  end if;
  perform set_config('holdfast.actor', coalesce(v_actor, ''), true);
end $$;

--
-- Name: copies_payload_of(uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.copies_payload_of(p_job uuid, p_origin uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with recursive source as (
    select j.retry_of, j.compensates from holdfast.job j where j.id = p_job
    union
    select j.retry_of, j.compensates from source s join holdfast.job j on j.id = any (array[s.retry_of, s.compensates]))
  select exists (select from source s where p_origin in (s.retry_of, s.compensates))
$$;

--
-- Name: count_refusal(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.count_refusal() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select nextval('holdfast.refusal')
$$;

--
-- Name: count_running(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.count_running(p_queue text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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
-- Name: create_key(text, bytea, text, text, text[], timestamp with time zone, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.create_key(p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamp with time zone, p_actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: create_operation(uuid, text, text, text, text, text, uuid[], jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.create_operation(p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.begin_operation(p_id, p_tenant, p_action, null, null, p_search, p_actor, p_reason, p_jobs, p_declared)
$$;

--
-- Name: create_person(text, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: create_schedule(jsonb, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.create_schedule(p_definition jsonb, p_replace boolean DEFAULT false) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_is holdfast.schedule;
begin
  perform holdfast.require_own(p_definition -> 'options' ->> 'tenant', format('schedule %L', p_definition ->> 'name'));
  if holdfast.bound_tenant() is not null and exists (select from holdfast.schedule s where s.name = p_definition ->> 'name') then
    perform holdfast.find_schedule(p_definition ->> 'name');
  end if;
  perform holdfast.put_schedule(p_definition, false, p_replace);
  select * into strict v_is from holdfast.schedule s where s.name = p_definition ->> 'name';
  if v_is.declared
     or (v_is.task, v_is.payload::jsonb, v_is.options::jsonb, v_is.cron, v_is.every, v_is.tz, v_is.missed::text, v_is.overlap::text)
        is distinct from
        (p_definition ->> 'task', coalesce(p_definition -> 'payload', '{}'), coalesce(p_definition -> 'options', '{}'), p_definition ->> 'cron',
         make_interval(secs => (p_definition ->> 'every')::float8), coalesce(p_definition ->> 'tz', 'UTC'),
         coalesce(p_definition ->> 'missed', 'one'), coalesce(p_definition ->> 'overlap', 'allow')) then
    raise exception 'a schedule is called % already%', quote_literal(v_is.name),
        case when v_is.declared then ', declared in code' else ', and it says something else' end
      using errcode = 'HF062', hint = 'Choose another name, delete it first, or create it with replace.';
  end if;
end $$;

--
-- Name: decide(uuid, text, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.decide(p_approval uuid, p_actor text, p_decision text, p_reason text DEFAULT NULL::text, p_origin text DEFAULT NULL::text, p_seen_hash text DEFAULT NULL::text) RETURNS holdfast.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval;
begin
  perform holdfast.check_words(p_decision, p_reason, p_origin);
  perform holdfast.check_voter(p_actor);
  v_gate := holdfast.open_approval(p_approval);
  if v_gate.id is null then
    return holdfast.unknown_approval();
  end if;
  return holdfast.vote(v_gate, btrim(p_actor), 'person', p_decision, p_reason, p_origin, p_seen_hash);
end $$;

--
-- Name: decide_by_token(uuid, bytea, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.decide_by_token(p_approval uuid, p_token_hash bytea, p_decision text, p_reason text DEFAULT NULL::text, p_origin text DEFAULT NULL::text, p_seen_hash text DEFAULT NULL::text) RETURNS holdfast.answer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval;
  v_name text;
  v_answer holdfast.answer;
begin
  perform holdfast.check_words(p_decision, p_reason, p_origin);
  v_gate := holdfast.open_approval(p_approval);
  v_name := holdfast.token_holder(v_gate, p_token_hash);
  if v_name is null then
    return holdfast.unknown_approval();
  end if;
  v_answer := holdfast.vote(v_gate, v_name, 'token', p_decision, p_reason, p_origin, p_seen_hash);
  if v_answer.result in ('decided', 'counted') then
    update holdfast.approver r set used_at = holdfast.clock() where r.approval_id = p_approval and r.name = v_name;
  end if;
  return v_answer;
end $$;

--
-- Name: decision_of(holdfast.approval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.decision_of(p_gate holdfast.approval) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select jsonb_build_object('approval_id', p_gate.id, 'decided_by', p_gate.decided_by, 'decided_at', p_gate.decided_at,
           'origin', p_gate.decided_from, 'reason', p_gate.reason,
           'approved_by', coalesce((select jsonb_agg(d.who order by d.at, d.who) from holdfast.approval_decision d where d.approval_id = p_gate.id), '[]'))
$$;

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
-- Name: delete_job(uuid, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.delete_job(p_id uuid, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_address text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.require_changeable('delete', v_job);
  perform holdfast.take_away(v_job, p_actor, p_address, p_reason, null);
end $$;

--
-- Name: delete_schedule(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.delete_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  delete from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant');
  return found;
end $$;

--
-- Name: delete_view(text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.delete_view(p_tenant text, p_owner text, p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_own(p_tenant, 'a view');
  delete from holdfast.saved_view v
   where v.tenant is not distinct from p_tenant and v.owner is not distinct from p_owner and v.name = p_name;
  return found;
end $$;

--
-- Name: disable_person(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.disable_person(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: dispatch_cancelled(uuid, boolean, jsonb, double precision); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.dispatch_cancelled(p_id uuid, p_has_ended boolean, p_error jsonb, p_again_in double precision) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_run holdfast.dispatch;
begin
  perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  update holdfast.dispatch d
     set cancelled_at = case when p_error is null then holdfast.clock() end,
         error = p_error,
         next_try_at = holdfast.clock() + make_interval(secs => p_again_in)
   where d.id = p_id and d.state = 'over'
  returning * into v_run;
  if not found then
    return;
  end if;
  perform holdfast.note(v_run.job_id, 'dispatch.cancelled', 'executor:' || v_run.executor,
                        jsonb_build_object('attempt', v_run.attempt, 'try', v_run.cancel_tries, 'told', p_error is null));
  if p_has_ended then
    perform holdfast.release_after_run(v_run);
  end if;
end $$;

--
-- Name: dispatch_failed(uuid, integer, jsonb, boolean, boolean, double precision, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.dispatch_failed(p_id uuid, p_try integer, p_error jsonb, p_permanent boolean, p_doubtful boolean, p_delay double precision, p_most_tries integer) RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
  v_run holdfast.dispatch;
begin
  select * into v_job from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  select * into v_run from holdfast.dispatch d where d.id = p_id for no key update;
  if (v_job.holder = p_id and v_run.state = 'calling' and v_run.tries = p_try) is not true then
    return 'superseded';
  end if;
  if p_permanent or v_run.tries >= p_most_tries then
    perform holdfast.fail_run(v_job, v_run, p_error || jsonb_build_object('recoverable', not p_permanent, 'tries', v_run.tries),
                              p_error ->> 'message', 'executor:' || v_run.executor, p_doubtful);
    return 'failed';
  end if;
  update holdfast.dispatch d
     set state = 'planned', doubtful = p_doubtful, error = p_error, next_try_at = holdfast.clock() + make_interval(secs => p_delay)
   where d.id = p_id;
  perform holdfast.note(v_run.job_id, 'dispatch.failed', 'executor:' || v_run.executor,
                        jsonb_build_object('attempt', v_run.attempt, 'try', v_run.tries, 'again_in', p_delay));
  return 'planned';
end $$;

--
-- Name: dispatch_sent(uuid, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.dispatch_sent(p_id uuid, p_run_ref text, p_run_url text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_run holdfast.dispatch;
begin
  -- Whatever is noted about a job is noted under its lock: who follows it reads notes by their numbers.
  perform from holdfast.job j where j.id = (select d.job_id from holdfast.dispatch d where d.id = p_id) for no key update;
  update holdfast.dispatch d
     set state = case when d.state = 'over' then 'over' else 'sent' end,
         sent_at = coalesce(d.sent_at, holdfast.clock()),
         run_ref = coalesce(p_run_ref, d.run_ref),
         run_url = coalesce(d.run_url, p_run_url),
         doubtful = false,
         error = null,
         next_try_at = case when d.state = 'over' then d.next_try_at end
   where d.id = p_id
  returning * into v_run;
  if found then
    perform holdfast.note(v_run.job_id, 'dispatch.sent', 'executor:' || v_run.executor,
                          jsonb_strip_nulls(jsonb_build_object('attempt', v_run.attempt, 'try', v_run.tries, 'run', p_run_ref)));
  end if;
end $$;

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
-- Name: due_schedules(integer, text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.due_schedules(p_limit integer, p_except text[] DEFAULT '{}'::text[], OUT due jsonb, OUT next_in double precision) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_undeclared text[];
  v_gone text[];
begin
  select coalesce(array_agg(u.name), '{}') into v_undeclared from holdfast.undeclared_schedules(v_now) as u;
  if v_undeclared <> '{}' then
    -- Who declares one has it locked, or is done: so they are locked first, and looked at again with the locks in hand.
    select array_agg(l.name) into v_gone
      from (select s.name
              from holdfast.schedule s
             where s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone))
             order by s.name
               for no key update skip locked) as l;
    update holdfast.schedule s
       set withdrawn_at = v_now, updated_at = v_now
     where s.name = any (v_gone)
       and s.name = any (array(select u.name from holdfast.undeclared_schedules(v_now) as u where u.is_gone));
  end if;
  select coalesce(jsonb_agg(to_jsonb(d)), '[]') into due
    from (select s.name, s.version, s.cron, extract(epoch from s.every) as every, s.tz, s.anchor, s.missed, s.settled_to, v_now as now
            from holdfast.schedule s
           where s.paused_at is null and s.withdrawn_at is null and (s.next_at is null or s.next_at <= v_now)
             and s.name <> all (p_except) and s.name <> all (v_undeclared)
           order by s.next_at nulls first, s.name
           limit p_limit) as d;
  select extract(epoch from s.next_at - v_now) into next_in
    from holdfast.schedule s
   where s.paused_at is null and s.withdrawn_at is null and s.next_at > v_now and s.next_at < 'infinity'
   order by s.next_at
   limit 1;
end $$;

--
-- Name: edit_schedule(text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.edit_schedule(p_name text, p_changes jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_is holdfast.schedule := holdfast.find_schedule(p_name);
begin
  if v_is.declared then
    raise exception 'schedule % is declared in code', quote_literal(p_name)
      using errcode = 'HF062', hint = 'Change it there: the next worker that starts brings it.';
  end if;
  perform holdfast.put_schedule(
    jsonb_build_object('name', v_is.name, 'task', v_is.task, 'payload', v_is.payload, 'options', v_is.options) || p_changes, false, true);
end $$;

--
-- Name: emit(text, jsonb, text, text, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.emit(p_name text, p_payload jsonb DEFAULT 'null'::jsonb, p_tenant text DEFAULT NULL::text, p_actor text DEFAULT NULL::text, p_token uuid DEFAULT NULL::uuid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz;
  v_ids uuid[];
  v_count bigint;
begin
  perform holdfast.require_own(p_tenant, format('event %L', p_name));
  if coalesce(p_name, '') = '' or length(p_name) > 500 then
    raise exception 'an event needs a name of 1 to 500 characters' using errcode = 'HF005';
  end if;
  if octet_length(p_payload::text) > 262144 then
    raise exception 'event % has a payload of % bytes; at most 262,144 (256 KiB) fit', quote_literal(p_name), octet_length(p_payload::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and send its id.';
  end if;
  perform holdfast.lock_event(p_name);
  select e.woke into v_count from holdfast.event e where e.token = p_token;
  if found then
    return v_count;
  end if;
  v_now := holdfast.clock();
  select array_agg(l.id) into v_ids
    from (select j.id::uuid
            from (select w.job_id, w.until from holdfast.wait w where w.event = p_name order by w.job_id) as w
            join holdfast.job j on j.id = any (array[w.job_id])
           where j.status = 'WAITING' and j.claim_order is null and (p_tenant is null or j.tenant = p_tenant)
             and j.due_at is not distinct from w.until   -- else it has been woken, and waits for something else now
             and (w.until is null or w.until > v_now)   -- by its time too: who is due since then keeps his place
           order by w.job_id
             for no key update of j) as l;
  v_count := coalesce(cardinality(v_ids), 0);
  perform holdfast.let_go(v_ids);
  perform holdfast.note(i.id, 'event', p_actor, jsonb_build_object('event', p_name)) from unnest(v_ids) as i (id);
  insert into holdfast.event (name, tenant, payload, emitted_at, emitted_by, token, woke)
  values (p_name, p_tenant, coalesce(p_payload, 'null'), v_now, coalesce(p_actor, holdfast.actor()), p_token, v_count);
  return v_count;
end $$;

--
-- Name: enable_person(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enable_person(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: end_delivery(uuid, integer, uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  update holdfast.notification n
     set state = 'delivered', delivered_at = holdfast.clock()
   where n.id = p_notification and n.job_id = p_job and n.state <> 'delivered';
end $$;

--
-- Name: end_dispatch(uuid, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_dispatch(p_id uuid, p_stop boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  update holdfast.dispatch d
     set state = 'over', over_at = holdfast.clock(),
         cancel_wanted_at = case when p_stop then holdfast.clock() end,
         next_try_at = case when p_stop then holdfast.clock() end
   where d.id = p_id;
  if p_stop then
    perform pg_notify('holdfast_dispatch', 'cancel');
  end if;
end $$;

--
-- Name: end_of_slice(bigint, bigint, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_of_slice(p_from bigint, p_to bigint, p_limit integer) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
  return least((select h.xid from holdfast.job_history h where h.xid >= p_from and h.xid < p_to order by h.xid offset p_limit limit 1) + 1,
               (select a.xid from holdfast.activity a where a.xid >= p_from and a.xid < p_to order by a.xid offset p_limit limit 1) + 1,
               p_to);
end $$;

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
-- Name: end_replay(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_replay(p_id uuid) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_jobs uuid[];
begin
  select array_agg(h.job_id order by h.job_id) into v_jobs
    from holdfast.job_history h
   where h.xid = pg_current_xact_id()::text::bigint and h.seq = 1;
  if v_jobs is not null then
    update holdfast.webhook_delivery d set jobs = d.jobs || v_jobs, xid = null where d.id = p_id;
  end if;
  perform set_config('holdfast.actor', '', true);
  return coalesce(v_jobs, '{}');
end $$;

--
-- Name: end_session(bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.end_session(p_digest bytea) RETURNS text
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  delete from holdfast.session s where s.digest = p_digest returning s.person
$$;

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
-- Name: enqueue_children(uuid, integer, uuid, text, text, jsonb, jsonb, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enqueue_children(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_jobs jsonb, p_declared jsonb, p_importance text DEFAULT NULL::text) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_ids uuid[];
  v_now timestamptz;
begin
  perform holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select array(select e.value::uuid from jsonb_array_elements_text(s.value) with ordinality as e (value, n) order by e.n) into v_ids
    from holdfast.step s
   where s.job_id = p_job and s.name = p_name;
  if found then
    return v_ids;   -- the answer to the first call was lost
  end if;
  select array_agg(e.job_id order by e.nth) into v_ids
    from holdfast.enqueue_many((select coalesce(jsonb_agg(c || jsonb_build_object('parent', p_job) order by n), '[]')
                                  from jsonb_array_elements(p_jobs) with ordinality as j (c, n)), p_declared) as e;
  v_now := holdfast.clock();
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
  values (p_job, p_name, 'children', p_after, p_attempt, v_now, v_now, to_jsonb(coalesce(v_ids, '{}')), p_importance);
  return coalesce(v_ids, '{}');
end $$;

--
-- Name: enqueue_many(jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb DEFAULT NULL::jsonb) RETURNS TABLE(nth bigint, job_id uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $_$
declare
  v_jobs jsonb := p_jobs;
  -- What the transaction had before, it keeps: others may wait for that, and no repeat helps.
  v_most int := case when pg_current_xact_id_if_assigned() is null then 5 else 2 end;
begin
  if jsonb_typeof(p_jobs) is distinct from 'array' then
    raise exception 'enqueue_many takes an array of jobs, not %', coalesce(jsonb_typeof(p_jobs), 'null') using errcode = 'HF005';
  end if;
  if holdfast.bound_tenant() is not null then
    p_jobs := holdfast.own_jobs(p_jobs);
    v_jobs := p_jobs;
  end if;
  if p_declared is not null then
    perform holdfast.declare_tasks(p_declared);
  end if;
  if p_jobs @? '$[*] ? (!exists(@.id))' then
    v_jobs := holdfast.with_ids(p_jobs);
  end if;
  -- No savepoint more than it takes: beyond 64 of them in one transaction, everybody's look at rows costs more.
  if not holdfast.may_deadlock(v_jobs) then
    return query select * from holdfast.try_to_enqueue(v_jobs);
    return;
  end if;
  for v_try in 1..v_most loop
    begin
      return query select * from holdfast.try_to_enqueue(v_jobs);
      return;
    exception when deadlock_detected then
      if v_try = v_most then
        raise;
      end if;
    end;
    -- All that this call held is let go, for whoever waited for it: at once this one would have it again before that one is awake.
    perform pg_sleep(0.01 * v_try);
  end loop;
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
  perform holdfast.bind_to_tenants(('holdfast.' || v_name)::regclass, 'false');
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
-- Name: enter(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.enter(p_tenant text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_role text := case when p_tenant = '*' then 'holdfast_unbound' else 'holdfast_api' end;
begin
  if coalesce(p_tenant, '') = '' then
    raise exception 'enter needs a tenant, or * for all' using errcode = 'HF005';
  end if;
  perform set_config('holdfast.tenant', p_tenant, true);
  -- Roles belong to the cluster, rights to the database: another database's migration may have made a role that has none here.
  if holdfast.has_roles() and holdfast.may_act_as(session_user, v_role) and has_schema_privilege(v_role, 'holdfast', 'usage') then
    perform set_config('role', v_role, true);
  elsif p_tenant <> '*' then
    raise exception 'this database cannot keep tenants apart for %: who is bound to a tenant is not served', session_user
      using errcode = 'HF016', hint = 'Log in with holdfast_api, in a database that was migrated by a login that may create roles.';
  end if;
end $$;

--
-- Name: error_class(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.error_class(p_metadata jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN "substring"(COALESCE(((p_metadata -> 'error'::text) ->> 'type'::text), (p_metadata ->> 'type'::text)), '^[A-Za-z_][A-Za-z0-9_.]{0,99}$'::text);

--
-- Name: evaluate_alerts(interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.evaluate_alerts(p_every interval DEFAULT '00:00:10'::interval, OUT opened bigint, OUT closed bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
begin
  if not exists (select from holdfast.alert_rule) and not exists (select from holdfast.alert a where a.closed_at is null) then
    return;
  end if;
  -- A time in the future is a clock's that was set back: it must not silence the watch.
  perform from holdfast.alert_watch w where w.ran_at is null or w.ran_at <= v_now - p_every or w.ran_at > v_now for update skip locked;
  if not found then
    return;
  end if;
  select j.opened, j.closed into opened, closed from holdfast.judge_rules() as j;
  update holdfast.alert_watch w set ran_at = v_now;
end $$;

--
-- Name: event_kind(holdfast.job_status); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.event_kind(p_status holdfast.job_status) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE p_status WHEN 'PENDING'::holdfast.job_status THEN 'job.enqueued'::text WHEN 'RUNNING'::holdfast.job_status THEN 'job.started'::text WHEN 'RETRY'::holdfast.job_status THEN 'job.retrying'::text WHEN 'WAITING'::holdfast.job_status THEN 'job.waiting'::text WHEN 'WAITING_FOR_APPROVAL'::holdfast.job_status THEN 'job.waiting_for_approval'::text WHEN 'COMPLETED'::holdfast.job_status THEN 'job.completed'::text WHEN 'FAILED'::holdfast.job_status THEN 'job.failed'::text WHEN 'CANCELLED'::holdfast.job_status THEN 'job.cancelled'::text ELSE NULL::text END;

--
-- Name: expire_approvals(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.expire_approvals(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_id uuid;
  v_job uuid;
  v_gate holdfast.approval;
  v_count bigint := 0;
begin
  for v_id, v_job in
    select e.id, e.job_id
      from (select a.id, a.job_id
              from holdfast.approval a
             where a.decided_at is null and a.expires_at is not null and a.expires_at <= holdfast.clock()
             order by a.expires_at
             limit p_limit) as e
     order by e.job_id
  loop
    perform from holdfast.job j where j.id = v_job for no key update skip locked;
    if found then
      select * into v_gate from holdfast.approval a where a.id = v_id and a.decided_at is null for no key update skip locked;
      if found then
        perform holdfast.settle_expiry(v_gate);
        v_count := v_count + 1;
      end if;
    end if;
  end loop;
  return v_count;
end $$;

--
-- Name: extras_of(text, text, text, text, jsonb, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb, p_compensates uuid) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((COALESCE(p_label, p_requested_by, p_trace_parent, p_key) IS NOT NULL) OR (p_metadata IS NOT NULL) OR (p_compensates IS NOT NULL)) THEN (jsonb_build_object('label', p_label, 'requested_by', p_requested_by, 'trace_parent', p_trace_parent, 'key', p_key, 'metadata', p_metadata, 'compensates', p_compensates))::text ELSE NULL::text END;

--
-- Name: fail_run(holdfast.job, holdfast.dispatch, jsonb, text, text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.fail_run(p_job holdfast.job, p_run holdfast.dispatch, p_error jsonb, p_reason text, p_actor text, p_stop boolean) RETURNS holdfast.job_status
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_before text := current_setting('holdfast.actor', true);
  v_again boolean := coalesce((p_error ->> 'recoverable')::boolean, true) and p_job.retry_count < p_job.max_retries;
  v_error jsonb := jsonb_strip_nulls(p_error || jsonb_build_object('executor', p_run.executor, 'run_id', p_run.run_id, 'run_url', p_run.run_url));
begin
  -- Before the job: what follows a job's end (stop_runs) leaves a dispatch alone that is over.
  perform holdfast.end_dispatch(p_run.id, p_stop);
  perform set_config('holdfast.actor', p_actor, true);
  update holdfast.job j
     set status = case when v_again then 'RETRY' else 'FAILED' end::holdfast.job_status,
         holder = null,
         deadline_at = null,
         suspect = false,
         retry_count = j.retry_count + v_again::int,
         due_at = case when v_again then v_now + p_run.retry_in end,
         claim_order = case when v_again and p_run.retry_in <= interval '0' and j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end,
         error = v_error,
         reason = left(p_reason, 500)
   where j.id = p_job.id;
  perform holdfast.keep_attempt(p_run, 'failed', v_error);
  if v_again and p_run.retry_in <= interval '0' then
    perform holdfast.wake(array[p_job.queue::text]);
  end if;
  perform set_config('holdfast.actor', coalesce(v_before, ''), true);
  return case when v_again then 'RETRY' else 'FAILED' end;
end $$;

--
-- Name: fail_webhook(uuid, text, text, text, text, bytea, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.fail_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.webhook_delivery as d (id, endpoint, event_id, type, tenant, status, body, error)
  values (p_id, p_endpoint, p_event_id, p_type, p_tenant, 'failed', p_body, p_error)
  on conflict on constraint webhook_event_is_handled_once do update
     set error = excluded.error, tries = d.tries + 1, ended_at = excluded.ended_at
   where d.status = 'failed'   -- another of the same event may have succeeded meanwhile
$$;

--
-- Name: failed_compensations(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.failed_compensations(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with recursive tried as (
    select a.id as alert_id, a.job_id from holdfast.alert a where a.rule = p_rule.name and a.closed_at is null
    union all
    select t.alert_id, r.id from tried t join holdfast.job r on r.retry_of = t.job_id)
  select a.about, a.message, a.job_id, a.count, p_now
    from holdfast.alert a
   where a.rule = p_rule.name and a.closed_at is null
     and exists (select from holdfast.job j where j.id = a.job_id)
     and not exists (select from tried t join holdfast.job j on j.id = any (array[t.job_id]) where t.alert_id = a.id and j.status in ('COMPLETED', 'CANCELLED'))
$$;

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
-- Name: find_key(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.find_key(p_id text) RETURNS TABLE(digest bytea, name text, tenant text, scopes text[], is_long_unused boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select k.digest, k.name::text, k.tenant::text, k.scopes, coalesce(k.used_at, '-infinity') < holdfast.clock() - interval '1 minute'
    from holdfast.api_key k
   where k.id = p_id and holdfast.key_counts(k)
$$;

--
-- Name: find_person(text, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.find_person(p_name text, p_device bytea) RETURNS TABLE(password text, is_known_device boolean)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p.password, exists (select from holdfast.device d where d.digest = p_device and d.person = p.name)
    from holdfast.person p
   where p.name = p_name
$$;

--
-- Name: schedule; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.schedule (
    name holdfast.name NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    task holdfast.name NOT NULL,
    payload holdfast."json_object" DEFAULT '{}'::jsonb NOT NULL,
    options holdfast."json_object" DEFAULT '{}'::jsonb NOT NULL,
    cron text,
    every interval,
    tz text DEFAULT 'UTC'::text NOT NULL,
    anchor timestamp with time zone NOT NULL,
    missed holdfast.missed_policy DEFAULT 'one'::text NOT NULL,
    overlap holdfast.overlap_policy DEFAULT 'allow'::text NOT NULL,
    declared boolean NOT NULL,
    settled_to timestamp with time zone NOT NULL,
    next_at timestamp with time zone,
    paused_at timestamp with time zone,
    paused_by text,
    reason text,
    withdrawn_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    counted_from timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT schedule_goes_forward CHECK ((next_at > settled_to)),
    CONSTRAINT schedule_has_a_cron_line_or_an_interval CHECK (((cron IS NULL) <> (every IS NULL))),
    CONSTRAINT schedule_interval_is_positive CHECK ((every > '00:00:00'::interval))
)
WITH (fillfactor='70');

--
-- Name: find_schedule(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.find_schedule(p_name text) RETURNS holdfast.schedule
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_schedule holdfast.schedule;
begin
  select * into v_schedule from holdfast.schedule s where s.name = p_name and holdfast.may_touch(s.options ->> 'tenant') for no key update;
  if not found then
    perform holdfast.no_schedule(p_name);
  end if;
  return v_schedule;
end $$;

--
-- Name: find_session(bytea, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.find_session(p_digest bytea, p_is_request boolean) RETURNS TABLE(name text, role text, tenant text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: fire_schedule(text, integer, timestamp with time zone, timestamp with time zone[], timestamp with time zone[], integer, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.fire_schedule(p_name text, p_version integer, p_settled_to timestamp with time zone, p_slots timestamp with time zone[], p_missed timestamp with time zone[], p_times integer, p_next timestamp with time zone) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_schedule holdfast.schedule;
  v_all timestamptz[] := p_missed || p_slots;
  v_next timestamptz := coalesce(p_next, 'infinity');
  v_last timestamptz;
  v_slot timestamptz;
  v_fired int := 0;
begin
  select * into v_schedule
    from holdfast.schedule s
   where s.name = p_name and s.version = p_version and s.settled_to = p_settled_to
     and s.paused_at is null and s.withdrawn_at is null
     for no key update skip locked;   -- who holds it is at it
  if not found then
    return null;
  end if;
  select max(a) into v_last from unnest(v_all) as a;
  -- The times come from a process whose rules or clock may be wrong; what cannot be is refused.
  if exists (select from unnest(v_all) as a where a is null or a <= p_settled_to or a > v_now or a <> date_trunc('second', a))
     or v_next <= coalesce(v_last, p_settled_to) then
    raise exception 'schedule %: these times are not due', quote_literal(p_name) using errcode = 'HF005',
      hint = 'Times are whole seconds between the last one that was settled and the database''s clock, and the next one comes after them.';
  end if;
  if cardinality(p_missed) > 0 then
    insert into holdfast.schedule_run (schedule, slot, last_slot, times, outcome, at, actor)
    select p_name, min(m), max(m), p_times, 'missed', v_now, 'schedule:' || p_name from unnest(p_missed) as m
    on conflict (schedule, slot) do nothing;
  end if;
  for v_slot in select distinct a from unnest(p_slots) as a order by a loop
    v_fired := v_fired + holdfast.fire_slot(v_schedule, v_slot, v_now)::int;
  end loop;
  update holdfast.schedule s
     set settled_to = coalesce(v_last, s.settled_to), next_at = v_next, updated_at = v_now
   where s.name = p_name;
  return v_fired;
end $$;

--
-- Name: fire_slot(holdfast.schedule, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.fire_slot(p_schedule holdfast.schedule, p_slot timestamp with time zone, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_by text := 'schedule:' || p_schedule.name;
  v_id uuid := holdfast.new_id();
  v_outcome text := 'fired';
  v_detail text;
  v_open uuid;
  v_created boolean := false;
begin
  -- Another decided it, whatever the schedule's row says now: the books may have been set back.
  if exists (select from holdfast.schedule_run r where r.schedule = p_schedule.name and r.slot = p_slot) then
    return false;
  end if;
  if p_schedule.missed = 'skip' and p_slot < p_now - interval '1 minute' then
    v_outcome := 'missed';
    v_id := null;
  end if;
  if v_outcome = 'fired' and p_schedule.overlap <> 'allow' then
    for v_open in select holdfast.open_jobs(p_schedule.name) loop
      if p_schedule.overlap = 'skip' then
        v_outcome := 'overlap';
        v_id := v_open;
        exit;
      end if;
      begin
        perform holdfast.cancel(v_open, v_by, 'replaced by ' || v_id);
      exception when sqlstate 'HF001' then
        null;   -- it ended at this moment, which is as well
      end;
    end loop;
  end if;
  if v_outcome = 'fired' then
    begin
      select e.job_id, e.created into v_id, v_created
        from holdfast.enqueue_many(jsonb_build_array(holdfast.job_of_schedule(p_schedule, v_id, p_slot, v_by))) as e;
      v_outcome := case when v_created then 'fired' else 'duplicate' end;
    exception when others then
      -- A refusal is an answer, and the schedule goes on; anything else is an accident, and is tried again.
      if sqlstate not like 'HF%' and sqlstate not like '22%' and sqlstate not like '23%' then
        raise;
      end if;
      v_outcome := 'refused';
      v_detail := left(sqlerrm, 500);
      v_id := null;
    end;
  end if;
  insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, job_id, actor, detail)
  values (p_schedule.name, p_slot, p_slot, v_outcome, p_now, v_id, v_by, v_detail);
  return v_created;
end $$;

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
     and (not d.flag_is_on or old.name is null or old.set_by = 'environment')
   order by d.options ->> 'flag'
  on conflict (name) do update set enabled = excluded.enabled, set_by = excluded.set_by, reason = null, at = excluded.at
$$;

--
-- Name: follow_channel(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.follow_channel(p_channel text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.open_channel(p_channel);
  return (select c.last_id from holdfast.channel c where c.name = p_channel);
end $$;

--
-- Name: follow_job(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.follow_job(p_job uuid) RETURNS TABLE(tenant text, seq integer, note bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select j.tenant::text,
         coalesce((select max(h.seq) from holdfast.job_history h where h.job_id = j.id), 0),
         coalesce((select max(a.id) from holdfast.activity a where a.job_id = j.id), 0)
    from holdfast.job j
   where j.id = p_job and holdfast.may_touch(j.tenant)
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
    SET jit TO 'off'
    AS $$
declare
  v_ids uuid[] := p_ids;
  v_all uuid[] := '{}';
begin
  -- Its own moves come through here again: the loop takes them in its next round, however long the chain is.
  if current_setting('holdfast.following', true) = 'on' then
    return;
  end if;
  perform set_config('holdfast.following', 'on', true);
  perform holdfast.lock_what_follows(p_ids);
  while v_ids is not null loop
    perform holdfast.stop_runs(v_ids);
    -- Of one that waited, or never started, not a wait for jobs that have not all ended: the last of their ends, which perhaps has it in
    -- hand and comes for the job, removes it. For any other job no end comes, and perhaps saw that it had not ended: it is removed here.
    delete from holdfast.wait w
     where w.job_id = any (v_ids)
       and (select j.status in ('FAILED', 'CANCELLED')
                   and ((w.remaining > 0) is not true or j.came_from not in ('PENDING', 'WAITING'))
              from holdfast.job j
             where j.id = w.job_id);
    perform holdfast.compensate(v_ids);
    perform holdfast.release_retries(v_ids);
    perform holdfast.close_approvals(v_ids);
    v_all := v_all || v_ids;
    v_ids := holdfast.tell_followers(v_ids);
  end loop;
  perform holdfast.raise_alerts(v_all);
  -- Last: it locks jobs that wait for a slot, in no order of ids, and nobody must wait with those in hand. A cancel of a parent may have
  -- this job's follower, the parent, and come for one of those, another child.
  perform holdfast.release_slots(v_all);
  perform set_config('holdfast.following', '', true);
end $$;

--
-- Name: forget_alerts(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_alerts(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_cutoff timestamptz := holdfast.clock() - interval '90 days';
  v_alerts bigint;
  v_messages bigint;
begin
  delete from holdfast.alert a
   where a.id = any (array(select o.id from holdfast.alert o where o.closed_at < v_cutoff order by o.closed_at limit p_limit));
  get diagnostics v_alerts = row_count;
  delete from holdfast.notification n
   where n.id = any (array(select o.id from holdfast.notification o where o.created_at < v_cutoff and o.state <> 'waiting' order by o.created_at limit p_limit));
  get diagnostics v_messages = row_count;
  return greatest(v_alerts, v_messages);
end $$;

--
-- Name: forget_log_parts(uuid[], integer[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_log_parts(p_ids uuid[], p_attempts integer[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  delete from holdfast.log_part p
   using unnest(p_ids, p_attempts) as o (id, attempt)
   where p.job_id = o.id and p.attempt = o.attempt
     and exists (select from holdfast.attempt a where a.job_id = o.id and a.attempt = o.attempt and a.logs is not null)
$$;

--
-- Name: forget_nonces(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_nonces(p_limit integer) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with gone as (
    delete from holdfast.callback_nonce n
     where (n.job_id, n.nonce) in (select o.job_id, o.nonce
                                     from holdfast.callback_nonce o
                                    where o.at < holdfast.clock() - interval '1 day'
                                    order by o.at
                                    limit p_limit)
    returning 1)
  select count(*) from gone
$$;

--
-- Name: forget_projected(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_projected(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_cursor holdfast.projection;
  v_events bigint;
  v_channels bigint;
begin
  select * into v_cursor from holdfast.projection p for update skip locked;   -- a pass must not see a channel go
  if not found then
    return 0;
  end if;
  -- For longer than there is a calendar nothing can be kept, and all upkeep would end with an error. What makes no sense forgets nothing.
  if v_cursor.feed_kept not between interval '0' and interval '6000 years' then
    v_cursor.feed_kept := interval '6000 years';
  end if;
  if v_cursor.statistics_kept not between interval '0' and interval '6000 years' then
    v_cursor.statistics_kept := interval '6000 years';
  end if;
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  delete from holdfast.feed f
   where f.ctid = any (array(select o.ctid from holdfast.feed o where o.at < v_now - v_cursor.feed_kept limit p_limit));
  get diagnostics v_events = row_count;
  perform set_config('holdfast.retention', '', true);
  delete from holdfast.statistic s where s.minute < v_now - v_cursor.statistics_kept;
  delete from holdfast.timing t where t.minute < v_now - v_cursor.statistics_kept;
  update holdfast.channel c set listened_at = null where c.listened_at < v_now - v_cursor.feed_kept;
  with gone as (
    delete from holdfast.channel c
     where c.name = any (array(
             select o.name
               from holdfast.channel o
              where o.last_at < v_now - v_cursor.feed_kept and o.listened_at is null
                and not exists (select from holdfast.feed f where f.channel = o.name)
              order by o.last_at
              limit p_limit))
    returning c.last_id),
  floored as (
    update holdfast.projection p
       set channel_floor = greatest(p.channel_floor, (select max(g.last_id) from gone g))
     where exists (select from gone))
  select count(*) into v_channels from gone;
  return greatest(v_events, v_channels);
end $$;

--
-- Name: forget_schedule_runs(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_schedule_runs(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_count bigint;
begin
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  with old as (
    select r.schedule, r.slot
      from holdfast.schedule_run r
     where r.at < holdfast.clock() - interval '90 days'
     order by r.at
     limit p_limit)
  delete from holdfast.schedule_run r using old where r.schedule = old.schedule and r.slot = old.slot;
  get diagnostics v_count = row_count;
  perform set_config('holdfast.retention', '', true);
  return v_count;
end $$;

--
-- Name: forget_sessions(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_sessions() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  delete from holdfast.session s where s.begun_at < holdfast.clock() - interval '12 hours';
  delete from holdfast.device d where d.seen_at < holdfast.clock() - interval '90 days';
  delete from holdfast.login_try t where t.empty_at < holdfast.clock();
$$;

--
-- Name: forget_webhooks(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.forget_webhooks(p_limit integer) RETURNS bigint
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with gone as (
    delete from holdfast.webhook_delivery d
     where d.id = any (array(
       select o.id
         from holdfast.webhook_delivery o
        where o.ended_at < holdfast.clock() - interval '30 days'
        order by o.ended_at
        limit p_limit))
    returning 1)
  select count(*) from gone
$$;

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
-- Name: further_failures(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.further_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select a.about, format('%s of task %s FAILED', case f.n when 1 then 'a job' else f.n || ' jobs' end, substr(a.about, 6)), a.job_id, f.n,
         greatest(a.last_seen_at, least(f.last, p_now))
    from holdfast.alert a
   cross join lateral (
     select sum(s.failed)::bigint as n, max(s.minute) + interval '1 minute' as last
       from holdfast.statistic s
      where p_rule.tenant is null and s.task = substr(a.about, 6) and s.failed > 0
        and s.minute >= date_bin('1 minute', greatest(a.opened_at, p_now - interval '7 days'), '2000-01-01')
        and (p_rule.queue is null or s.queue = p_rule.queue)
     having sum(s.failed) > 0
     union all
     select count(*), max(o.finished_at)
       from (select j.finished_at
               from holdfast.job j
              where j.status = 'FAILED' and j.tenant = p_rule.tenant and j.task = substr(a.about, 6) and j.compensates is null
                and j.finished_at >= date_bin('1 minute', greatest(a.opened_at, p_now - interval '7 days'), '2000-01-01')
                and (p_rule.queue is null or j.queue = p_rule.queue)
              order by j.finished_at desc
              limit 10000) as o
     having count(*) > 0) as f
   where a.rule = p_rule.name and a.closed_at is null
$$;

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
    perform holdfast.count_refusal();
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
      perform holdfast.count_refusal();
      raise exception 'job % was claimed without a claim id of its own', old.id using errcode = 'HF001';
    end if;
    new.attempt := old.attempt + 1;
    new.ready_at := holdfast.ready_since(old.claim_order, old.priority);
    new.started_at := new.updated_at;
  else
    new.attempt := old.attempt;
    new.claim_id := old.claim_id;
    new.ready_at := old.ready_at;
    new.started_at := old.started_at;
  end if;
  if new.status in ('FAILED', 'CANCELLED') then
    new.last_holder := old.holder;
  end if;
  if holdfast.is_terminal(new.status) then
    new.finished_at := new.updated_at;
    new.key_held := new.key_held and (new.key_scope = 'ever' or (new.key_scope = 'success' and new.status = 'COMPLETED'));
  else
    new.finished_at := null;
  end if;
  new.chain := holdfast.linked(coalesce(old.chain, holdfast.head_of(old.id)),
    holdfast.since_when(old.status, new.status, new.ready_at, new.started_at),
    holdfast.said(new.status, new.updated_at, pg_current_xact_id()::text::bigint, holdfast.actor(), new.reason,
      holdfast.told_of_move(new.id, old.status, new.status, new.approval_id, new.error, new.retry_count, new.crash_count, new.due_at)));
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
    perform holdfast.count_refusal();
    raise exception '%', tg_argv[0] using errcode = 'HF003', hint = 'Set a retention on the task; holdfast.upkeep() removes what is older.';
  end if;
  if tg_table_name = 'job' then   -- a condition of its own: no other table's row has a status to look at
    if not holdfast.is_terminal(old.status) then
      perform holdfast.count_refusal();
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
      perform holdfast.count_refusal();
      raise exception 'job % is % and never changes again', old.id, old.status using errcode = 'HF001';
    end if;
    return new;
  end if;
  new.came_from := null;
  if (new.attempt, new.seq, new.claim_id, new.retry_count, new.crash_count, new.ready_at, new.started_at, new.finished_at, new.chain)
     is distinct from
     (old.attempt, old.seq, old.claim_id, old.retry_count, old.crash_count, old.ready_at, old.started_at, old.finished_at, old.chain) then
    perform holdfast.count_refusal();
    raise exception 'job %: attempt, seq, claim, counters, times and chain change only with its status', old.id using errcode = 'HF001';
  end if;
  new.updated_at := greatest(holdfast.clock(), old.updated_at);
  new.key_held := old.key_held and new.key_held;
  return new;
end $$;

--
-- Name: hand_over(uuid, integer, uuid, text, jsonb, double precision, double precision, double precision, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.hand_over(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_inputs jsonb, p_heartbeat_limit double precision, p_run_limit double precision, p_retry_in double precision, p_logs jsonb) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
  v_id uuid;
begin
  -- The answer to the first call was lost: it was handed over, whatever became of it since. It may be committing just now.
  perform from holdfast.job j where j.id = p_job for no key update;
  select d.id into v_id from holdfast.dispatch d where d.job_id = p_job and d.attempt = p_attempt and d.claim_id = p_claim_id;
  if found then
    return v_id;
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  insert into holdfast.dispatch (job_id, attempt, claim_id, executor, inputs, created_at, next_try_at, heartbeat_limit, run_limit, retry_in, logs)
  values (p_job, p_attempt, p_claim_id, p_executor, p_inputs, holdfast.clock(), holdfast.clock(), make_interval(secs => p_heartbeat_limit),
          make_interval(secs => p_run_limit), make_interval(secs => p_retry_in), p_logs)
  returning id into v_id;
  update holdfast.job j
     set holder = v_id, deadline_at = null, suspect = false   -- its worker survived it
   where j.id = p_job;
  perform holdfast.note(p_job, 'dispatch.planned', holdfast.holder_name(v_job.holder), jsonb_build_object('executor', p_executor, 'attempt', p_attempt));
  perform pg_notify('holdfast_dispatch', p_executor);
  return v_id;
end $$;

--
-- Name: has_callers(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.has_callers() RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.api_key k where holdfast.key_counts(k))
      or exists (select from holdfast.person p where p.disabled_at is null)
$$;

--
-- Name: has_roles(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.has_roles() RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select n.nspowner::regrole::text = 'holdfast_owner' and to_regrole('holdfast_api') is not null
    from pg_namespace n
   where n.nspname = 'holdfast'
$$;

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
-- Name: has_unprojected(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.has_unprojected() RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_cursor holdfast.projection;
  v_xmax bigint;
  v_to bigint;
  v_running bigint[];
begin
  select * into strict v_cursor from holdfast.projection p;
  v_xmax := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_running := holdfast.running_in(v_cursor.snapshot);
  v_to := pg_snapshot_xmax(pg_current_snapshot())::text::bigint;
  return v_cursor.cluster is distinct from holdfast.cluster()
      or exists (select from holdfast.job_history h
                  where h.xid >= v_xmax and h.xid < v_to and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.xid >= v_xmax and a.xid < v_to and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at))
      or exists (select from holdfast.published)
      or exists (select from holdfast.left_over)
      or exists (select from holdfast.job_history h
                  where h.xid = any (v_running) and holdfast.is_native(h.xid, h.xmin, h.at, v_cursor.adopted_at))
      or exists (select from holdfast.activity a
                  where a.xid = any (v_running) and holdfast.is_native(a.xid, a.xmin, a.at, v_cursor.adopted_at));
end $$;

--
-- Name: head_of(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.head_of(p_job uuid) RETURNS bytea
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select h.head from holdfast.heads(p_job, p_job) as h order by h.seq desc limit 1
$$;

--
-- Name: heads(uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.heads(p_first uuid, p_last uuid) RETURNS TABLE(job_id uuid, seq integer, head bytea)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_row record;
begin
  for v_row in
    select h.job_id, h.seq, h.to_status, h.since, h.at, h.xid, h.actor, h.reason, h.metadata
      from holdfast.job_history h
     where h.job_id >= p_first and h.job_id <= p_last
     order by h.job_id, h.seq
  loop
    head := holdfast.linked(case when v_row.job_id = job_id then head else uuid_send(v_row.job_id) end, v_row.since,
              holdfast.said(v_row.to_status, v_row.at, v_row.xid, v_row.actor, v_row.reason, v_row.metadata));
    job_id := v_row.job_id;
    seq := v_row.seq;
    return next;
  end loop;
end $$;

--
-- Name: heal(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.heal(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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
-- Name: held_outside(uuid, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.held_outside(p_job uuid, p_attempt integer) RETURNS TABLE(since timestamp with time zone)
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT d.sent_at
    FROM holdfast.dispatch d
   WHERE ((d.job_id = held_outside.p_job) AND (d.attempt = held_outside.p_attempt) AND (d.sent_at IS NOT NULL));
END;

--
-- Name: hidden_of(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.hidden_of(p_job uuid) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select jsonb_build_object('paths', t.options -> 'redact', 'payload', j.payload, 'task', j.task, 'tenant', j.tenant)
    from holdfast.job j
    join holdfast.task t on t.name = j.task
   where j.id = p_job and t.options ? 'redact' and holdfast.may_touch(j.tenant)
$$;

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
               'taken', count(s.n), 'by', min(s.job_id::text) filter (where s.n = 1 and holdfast.bound_tenant() is null))
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
   where j.id = p_job and holdfast.may_touch(j.tenant)
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
  if (v_job.status = 'RUNNING' and v_job.attempt = p_attempt and v_job.claim_id = p_claim_id) is not true
     or exists (select from holdfast.dispatch d where d.id = v_job.holder) then   -- it has handed the job over
    raise exception 'attempt % no longer owns job %: it is %', p_attempt, p_job, coalesce(v_job.status::text, 'gone')
      using errcode = 'HF011', detail = jsonb_build_object('job', p_job, 'attempt', p_attempt, 'status', v_job.status)::text;
  end if;
  perform holdfast.let_go_in_silence(v_job.holder);
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
-- Name: how_it_stands(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.how_it_stands(p_approval uuid, p_result text) RETURNS holdfast.answer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p_result, a.job_id, a.decision, a.decided_by, a.decided_at, a.reason,
         (select count(distinct holdfast.person(d.who))::int from holdfast.approval_decision d where d.approval_id = a.id and d.decision = 'approve'),
         a.quorum::int, null::text
    from holdfast.approval a
   where a.id = p_approval
$$;

--
-- Name: in_order_of_keys(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.in_order_of_keys(p_jobs uuid[]) RETURNS uuid[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
  select array_agg(s.job order by j.tenant, j.task, j.key, s.job)
    from unnest(p_jobs) as s (job)
    left join holdfast.job j on j.id = any (array[s.job])
$$;

--
-- Name: in_words(interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.in_words(p_span interval) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT CASE WHEN (w.n = 1) THEN ('1 '::text || w.unit) ELSE (((w.n || ' '::text) || w.unit) || 's'::text) END AS "case" FROM ((SELECT round(EXTRACT(epoch FROM in_words.p_span)) AS s) t CROSS JOIN LATERAL (SELECT (CASE WHEN ((t.s % (86400)::numeric) = (0)::numeric) THEN (t.s / (86400)::numeric) WHEN ((t.s % (3600)::numeric) = (0)::numeric) THEN (t.s / (3600)::numeric) WHEN ((t.s % (60)::numeric) = (0)::numeric) THEN (t.s / (60)::numeric) ELSE t.s END)::bigint AS n, CASE WHEN ((t.s % (86400)::numeric) = (0)::numeric) THEN 'day'::text WHEN ((t.s % (3600)::numeric) = (0)::numeric) THEN 'hour'::text WHEN ((t.s % (60)::numeric) = (0)::numeric) THEN 'minute'::text ELSE 'second'::text END AS unit) w));

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
-- Name: is_address(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_address(p_name text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((length(p_name) <= 254) AND (p_name ~ '^[A-Za-z0-9.!#$%&''*+/=?^_`{|}~-]+@([A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?\.)+[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?$'::text));

--
-- Name: is_awaited_by(uuid, uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_awaited_by(p_job uuid, p_ids uuid[]) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with recursive chain as (
    select i.id from unnest(p_ids) as i (id)
    union
    select d.needs
      from chain c
      join holdfast.wait w on w.job_id = any (array[c.id]) and w.remaining > 0 and w.until is null
      join holdfast.dependency d on d.job_id = w.job_id and d.position <> 0
     where (select n.finished_at is null from holdfast.job n where n.id = d.needs))
  select exists (select from chain c where c.id = p_job)
$$;

--
-- Name: is_completed_by(uuid, integer, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_completed_by(p_job uuid, p_attempt integer, p_claim_id uuid) RETURNS boolean
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.job j
                  where j.id = p_job and j.attempt = p_attempt and j.claim_id = p_claim_id and j.status = 'COMPLETED')
$$;

--
-- Name: is_first(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_first(p_what text) RETURNS boolean
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select pg_try_advisory_xact_lock(hashtextextended('holdfast.' || p_what, 0))
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
-- Name: is_native(bigint, xid, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_native(p_xid bigint, p_xmin xid, p_at timestamp with time zone, p_adopted_at timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ((p_at > p_adopted_at) OR ((p_at > (p_adopted_at - '1 day'::interval)) AND (((((p_xmin)::text)::bigint - p_xid) & '4294967295'::bigint) < '2147483648'::bigint)));

--
-- Name: is_needed(uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_needed(p_job uuid, p_parent uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.job r where r.retry_of = p_job and r.finished_at is null)
      or exists (select from holdfast.job c where c.compensates = p_job and c.status not in ('COMPLETED', 'CANCELLED'))
      or exists (select from holdfast.job c join holdfast.job r on r.retry_of = any (array[c.compensates])
                  where c.id = p_job and c.status = 'FAILED' and r.finished_at is null)
      or exists (select from holdfast.dependency d join holdfast.job f on f.id = any (array[d.job_id])
                  where d.needs = p_job
                    and (f.finished_at is null
                         or (d.position > 0 and f.status = 'FAILED' and not exists (select from holdfast.job r where r.retry_of = f.id))
                         or (f.status <> 'COMPLETED' and holdfast.is_to_be_undone(f.id))))
      or exists (select from holdfast.job r join holdfast.job o on o.id = any (array[r.retry_of]) where r.id = p_job)
      or exists (select from holdfast.job p
                  where p.id = p_parent and (p.finished_at is null or (p.status <> 'COMPLETED' and holdfast.is_to_be_undone(p.id))))
      or exists (select from holdfast.dispatch d
                  where d.job_id = p_job and d.next_try_at is not null and d.cancel_wanted_at > holdfast.clock() - interval '30 days')
$$;

--
-- Name: is_own_task(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_own_task(p_task text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN starts_with(p_task, 'holdfast.'::text);

--
-- Name: is_terminal(holdfast.job_status); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_terminal(p_status holdfast.job_status) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (p_status = ANY (ARRAY['COMPLETED'::holdfast.job_status, 'FAILED'::holdfast.job_status, 'CANCELLED'::holdfast.job_status]));

--
-- Name: is_to_be_undone(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.is_to_be_undone(p_job uuid) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select exists (select from holdfast.job c
                  where c.compensates = p_job
                    and (c.finished_at is null
                         or (c.status = 'FAILED' and not exists (select from holdfast.job r where r.retry_of = c.id))))
$$;

--
-- Name: job_of_schedule(holdfast.schedule, uuid, timestamp with time zone, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.job_of_schedule(p_schedule holdfast.schedule, p_id uuid, p_slot timestamp with time zone, p_by text) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select jsonb_build_object('requested_by', p_by) || p_schedule.options
         || jsonb_build_object('id', p_id, 'task', p_schedule.task, 'payload', p_schedule.payload,
              'metadata', coalesce(p_schedule.options -> 'metadata', '{}')
                          || jsonb_build_object('schedule', p_schedule.name,
                                                'slot', to_char(p_slot at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"+00:00"')))
$$;

--
-- Name: job_outcome(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_fault boolean;
begin
  -- A run that fell silent is found by whoever looks, also where no worker sweeps.
  select j.status, j.result::text, j.error::text,
         j.status = 'RUNNING' and (select holdfast.run_fault(d) is not null from holdfast.dispatch d where d.id = j.holder)
    into status, result, error, v_fault
    from holdfast.job j where j.id = p_id and holdfast.may_touch(j.tenant);
  if v_fault and holdfast.check_run(p_id) then
    select j.status, j.result::text, j.error::text into status, result, error from holdfast.job j where j.id = p_id;
  end if;
end $$;

--
-- Name: job_outcomes(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.job_outcomes(p_ids uuid[]) RETURNS TABLE(id uuid, status holdfast.job_status, result text, error text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select i.id, j.status, j.result::text, j.error::text
    from unnest(p_ids) with ordinality as i (id, n)
    left join holdfast.job j on j.id = any (array[i.id])
   order by i.n
$$;

--
-- Name: job_report(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.job_report(p_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select jsonb_build_object(
           'task', j.task, 'queue', j.queue, 'priority', j.priority, 'status', j.status, 'payload', j.payload, 'result', j.result,
           'created_at', j.created_at, 'finished_at', j.finished_at, 'due_at', j.due_at,
           'starts', (select coalesce(jsonb_agg(jsonb_build_object('at', h.at, 'by', h.actor) order by h.seq), '[]')
                        from holdfast.job_history h
                       where h.job_id = j.id and h.to_status = 'RUNNING'),
           'errors', (select coalesce(jsonb_agg(a.error order by a.attempt), '[]')
                        from holdfast.attempt a
                       where a.job_id = j.id and a.error is not null))
    from holdfast.job j
   where j.id = p_id and holdfast.may_touch(j.tenant)
$$;

--
-- Name: webhook_delivery; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.webhook_delivery (
    id uuid NOT NULL,
    endpoint holdfast.name NOT NULL,
    event_id holdfast.long_name NOT NULL,
    type holdfast.name NOT NULL,
    tenant holdfast.name,
    status text NOT NULL,
    body bytea NOT NULL,
    received_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    ended_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    tries integer DEFAULT 1 NOT NULL,
    replays integer DEFAULT 0 NOT NULL,
    replayed_by text,
    error text,
    jobs uuid[] DEFAULT '{}'::uuid[] NOT NULL,
    xid bigint,
    CONSTRAINT webhook_error_is_of_failures CHECK (((error IS NOT NULL) = (status = 'failed'::text))),
    CONSTRAINT webhook_status_is_known CHECK ((status = ANY (ARRAY['handled'::text, 'ignored'::text, 'failed'::text])))
)
WITH (fillfactor='80');

--
-- Name: jobs_of(holdfast.webhook_delivery); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.jobs_of(p_delivery holdfast.webhook_delivery) RETURNS uuid[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p_delivery.jobs || array(
    select h.job_id
      from holdfast.job_history h
     where h.xid = p_delivery.xid and h.seq = 1
       and h.at >= p_delivery.ended_at and h.at < p_delivery.ended_at + interval '1 minute'
     order by h.job_id)
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
    SET jit TO 'off'
    AS $$
declare
  v_limit record;
  v_many bigint;
  v_other uuid;
  v_known boolean;
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
      -- Tenants may share a limit: whose job it is that fills it is said to who may know.
      v_known := (select holdfast.may_touch(j.tenant) from holdfast.job j where j.id = v_other);
      raise exception 'the limit of % (at most %) is reached: % in the way', v_limit.key, v_limit.most,
          case when v_known then format('job %s is', v_other) else 'other jobs are' end
        using errcode = 'HF012', detail = jsonb_build_object('job', case when v_known then v_other end, 'key', v_limit.key)::text,
              hint = case when v_known then 'Wait for that job''s end, or cancel it.' else 'Try again later.' end || ' Nothing was enqueued.';
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
    SET jit TO 'off'
    AS $$
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
  perform holdfast.check_after(p_jobs);
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
  -- In the order of lock_jobs.
  with parent as materialized (
    select p.id, p.status
      from (select distinct u.needs from unnest(v_needs) as u (needs) order by u.needs) as n
      join holdfast.job p on p.id = any (array[n.needs]) and holdfast.may_touch(p.tenant)
     order by p.status = 'RUNNING' desc, p.id
       for no key update of p)
  select array_agg(p.id::uuid) filter (where not holdfast.is_terminal(p.status)) into v_open from parent p;
  select u.nth, u.needs, p.status into v_wrong
    from unnest(v_nths, v_needs, v_policies) as u (nth, needs, policy)
    left join holdfast.job p on p.id = any (array[u.needs]) and holdfast.may_touch(p.tenant)
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
end $$;

--
-- Name: judge_callback(holdfast.job, holdfast.dispatch, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.judge_callback(p_job holdfast.job, p_run holdfast.dispatch, p_run_id text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select case
    when p_run.run_id is not null and p_run_id is not null and p_run.run_id <> p_run_id then 'other_run'
    when p_job.attempt <> p_run.attempt or p_job.claim_id is distinct from p_run.claim_id then 'stale_attempt'
    when p_job.status <> 'RUNNING' or p_job.holder is distinct from p_run.id then 'already_over'
    else 'ok'
  end
$$;

--
-- Name: judge_quotas(text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.judge_quotas(p_tenants text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_quota record;
begin
  for v_quota in
    select q.tenant, q.task, q.period, q.measure, q.soft, q.hard, q.told_until, q.reached_until, used.amount,
           holdfast.period_start(q.period, v_now) as since,
           holdfast.period_start(q.period, v_now) + case q.period when 'day' then interval '24 hours' else interval '1 month' end as ends
      from holdfast.quota q
      cross join lateral (
        select coalesce(sum(case q.measure when 'enqueued' then u.enqueued when 'runs' then u.runs else u.run_seconds end), 0) as amount
          from holdfast.usage u
         where u.tenant = q.tenant and u.day >= (holdfast.period_start(q.period, v_now) at time zone 'UTC')::date
           and (q.task is null or u.task = q.task)) as used
     where q.tenant = any (p_tenants)
     order by q.tenant, q.task, q.period, q.measure
       for no key update of q
  loop
    if v_quota.amount >= v_quota.soft and v_quota.told_until is distinct from v_quota.ends then
      perform holdfast.tell_quota('quota.soft', v_quota.tenant, v_quota.task, v_quota.period, v_quota.measure, v_quota.soft, v_quota.amount, v_quota.since);
    end if;
    if v_quota.amount >= v_quota.hard and v_quota.reached_until is distinct from v_quota.ends then
      perform holdfast.tell_quota('quota.hard', v_quota.tenant, v_quota.task, v_quota.period, v_quota.measure, v_quota.hard, v_quota.amount, v_quota.since);
    end if;
    update holdfast.quota q
       set told_until = case when v_quota.amount >= q.soft then v_quota.ends else q.told_until end,
           reached_until = case when v_quota.amount >= q.hard then v_quota.ends end
     where (q.tenant, q.period, q.measure) = (v_quota.tenant, v_quota.period, v_quota.measure) and q.task is not distinct from v_quota.task
       and (q.told_until is distinct from case when v_quota.amount >= q.soft then v_quota.ends else q.told_until end
            or q.reached_until is distinct from case when v_quota.amount >= q.hard then v_quota.ends end);
  end loop;
end $$;

--
-- Name: judge_rules(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.judge_rules(OUT opened bigint, OUT closed bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_rule holdfast.alert_rule;
  v_opened uuid[];
begin
  opened := 0;
  for v_rule in select * from holdfast.alert_rule r where r.enabled order by r.name loop
    v_opened := null;
    if v_rule.kind in ('job_failed', 'compensation_failed') then   -- opened by the move itself
      update holdfast.alert a
         set message = c.message, count = c.count, last_seen_at = greatest(a.last_seen_at, c.seen_at)
        from holdfast.causes(v_rule, v_now) as c
       where a.rule = v_rule.name and a.about = c.about and a.closed_at is null;
    else
      with found as (
        insert into holdfast.alert as a (rule, about, severity, message, job_id, count, opened_at, last_seen_at)
        select v_rule.name, c.about, v_rule.severity, c.message, c.job_id, c.count, v_now, v_now
          from holdfast.causes(v_rule, v_now) as c
         order by c.about
        on conflict (rule, about) where closed_at is null do update
           set message = excluded.message, count = excluded.count, severity = excluded.severity, last_seen_at = greatest(a.last_seen_at, excluded.last_seen_at)
        returning a.id, a.xmax = 0 as is_new)
      select array_agg(f.id) filter (where f.is_new) into v_opened from found f;
      perform holdfast.tell_of_alert(o.id, 'opened') from unnest(v_opened) as o (id);
    end if;
    opened := opened + coalesce(cardinality(v_opened), 0);
  end loop;
  closed := holdfast.close_alerts(v_now);
end $$;

--
-- Name: keep_answer(text, text, integer, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_answer(p_tenant text, p_key text, p_status integer, p_answer text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.require_own(nullif(p_tenant, ''), 'an answer');
  update holdfast.request r set status = p_status, answer = p_answer where r.tenant = p_tenant and r.key = p_key
$$;

--
-- Name: keep_attempt(holdfast.dispatch, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_attempt(p_run holdfast.dispatch, p_outcome text, p_error jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  insert into holdfast.attempt (job_id, attempt, worker, outcome, error, logs)
  select p_run.job_id, p_run.attempt, 'executor:' || p_run.executor, p_outcome, p_error, p_run.logs
   where p_error is not null or p_run.logs is not null
  on conflict do nothing;
  if p_run.logs is not null then
    perform holdfast.forget_log_parts(array[p_run.job_id], array[p_run.attempt]);
  end if;
end $$;

--
-- Name: keep_logs(holdfast.job, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_logs(p_job holdfast.job, p_worker text, p_outcome text, p_logs jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_logs is not null then
    insert into holdfast.attempt (job_id, attempt, worker, outcome, logs)
    values (p_job.id, p_job.attempt, p_worker, p_outcome, p_logs)
    on conflict do nothing;
    perform holdfast.forget_log_parts(array[p_job.id::uuid], array[p_job.attempt]);
  end if;
end $$;

--
-- Name: keep_readable(uuid, uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_readable(p_job uuid, p_ids uuid[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.dependency (needs, job_id, position, policy)
  select distinct i.id, p_job, 0, 'run' from unnest(p_ids) as i (id)
  on conflict do nothing
$$;

--
-- Name: keep_ring(text, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_ring(p_queue text, p_took interval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_until timestamptz := holdfast.clock() + least(p_took * 20, interval '0.3 seconds');
begin
  perform from holdfast.ring r where r.queue = p_queue for update skip locked;
  if found then
    update holdfast.ring r set tenants = t.tenants, heads = t.heads, until = v_until
      from holdfast.tenants_in_line(p_queue, '', null, 2000) as t
     where r.queue = p_queue;
  elsif not exists (select from holdfast.ring r where r.queue = p_queue) and holdfast.is_first('ring:' || p_queue) then
    insert into holdfast.ring (queue, tenants, heads, until)
    select p_queue, t.tenants, t.heads, v_until from holdfast.tenants_in_line(p_queue, '', null, 2000) as t
    on conflict (queue) do nothing;
  end if;
end $$;

--
-- Name: keep_turn(text, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_turn(p_queue text, p_tenant text, p_used integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform from holdfast.turn t where t.queue = p_queue for update skip locked;
  if found then
    update holdfast.turn t set tenant = p_tenant, used = p_used where t.queue = p_queue;
  elsif not exists (select from holdfast.turn t where t.queue = p_queue) and holdfast.is_first('turn:' || p_queue) then
    insert into holdfast.turn (queue, tenant, used) values (p_queue, p_tenant, p_used) on conflict (queue) do nothing;
  end if;
end $$;

--
-- Name: keep_up(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.keep_up(p_limit integer DEFAULT 5000, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint, OUT more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_ran_at timestamptz;
  v_most bigint;
  v_whole boolean;
begin
  select u.ran_at into v_ran_at from holdfast.upkeep u for update skip locked;
  if not found then
    return;
  end if;
  perform holdfast.measure_storage();
  removed := holdfast.apply_retention(p_limit);
  forgotten := 0;
  v_most := greatest(removed, holdfast.forget_nonces(p_limit), holdfast.forget_schedule_runs(p_limit), holdfast.forget_alerts(p_limit),
                     holdfast.forget_webhooks(p_limit));
  v_whole := (p_limit <= v_most and v_ran_at > holdfast.clock() - interval '10 minutes') is not true;   -- null: it was never done
  if v_whole then
    -- A wait's row stays until an attempt has read it: what came since then is what the attempt was woken for.
    delete from holdfast.event e
     where e.emitted_at < holdfast.clock() - interval '30 days'
       and not exists (select from holdfast.wait w
                        where w.event = e.name and w.since <= e.emitted_at
                          and (e.tenant is null or e.tenant = (select j.tenant from holdfast.job j where j.id = w.job_id)));
    delete from holdfast.request r where r.at < holdfast.clock() - interval '24 hours';
    perform holdfast.forget_sessions();
    delete from holdfast.rate_slot r where r.used_at < holdfast.clock() - r.period - interval '1 hour';
    with gone as (
      delete from holdfast.worker w
       where w.died_at < holdfast.clock() - interval '1 day'
         and not exists (select from holdfast.job j where j.holder = w.id)
      returning 1)
    select count(*) into forgotten from gone;
    update holdfast.upkeep set ran_at = holdfast.clock();
  end if;
  v_most := greatest(v_most, holdfast.forget_projected(p_limit));
  more := p_limit <= v_most;
  partitions := holdfast.ensure_history_partitions();
  if v_whole then
    perform holdfast.drop_empty_history_partitions();
  end if;
end $$;

--
-- Name: api_key; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.api_key (
    id text NOT NULL,
    digest bytea NOT NULL,
    name holdfast.name NOT NULL,
    tenant holdfast.name,
    scopes text[] NOT NULL,
    created_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    used_at timestamp with time zone,
    CONSTRAINT api_key_digest_is_sha256 CHECK ((octet_length(digest) = 32)),
    CONSTRAINT api_key_has_known_scopes CHECK (((scopes <@ ARRAY['enqueue'::text, 'read'::text, 'operate'::text, 'approve'::text, 'admin'::text]) AND (cardinality(scopes) > 0)))
);

--
-- Name: key_counts(holdfast.api_key); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.key_counts(p_key holdfast.api_key) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p_key.revoked_at is null and coalesce(p_key.expires_at, 'infinity') > holdfast.clock()
$$;

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
-- Name: leave(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.leave() RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select set_config('role', 'none', true)
$$;

--
-- Name: leave_flags(text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.leave_flags(p_tasks text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if cardinality(p_tasks) > 0 then
    update holdfast.job j
       set held_by = null, due_at = coalesce(j.due_at, holdfast.clock())
      from (select p.id
              from holdfast.job p
             where p.held_by collate "C" >= 'flag:' and p.held_by collate "C" < 'flag;' and p.held_by is not null and p.task = any (p_tasks)
             order by p.id
               for no key update) as l
     where j.id = any (array[l.id::uuid]) and j.held_by like 'flag:%';
  end if;
end $$;

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
         due_at = coalesce(j.due_at, holdfast.due_of(j.claim_order, j.priority))
   where j.id = p_job.id;
  update holdfast.rate_slot r set used_at = '-infinity' where r.job_id = p_job.id and r.used_at is null;
  if p_job.ties & 4 > 0 then
    with given as (
      update holdfast.slot s
         set n = null
       where s.job_id = p_job.id and s.n is not null
         and (p_job.status = 'PENDING'
              or s.key in (select l.key from holdfast.limits_of(p_job) as l where l.release_while_waiting))
      returning s.key)
    select array_agg(g.key) into v_freed from given g;
    if v_freed is not null then
      perform holdfast.offer_slots(v_freed);
    end if;
  end if;
end $$;

--
-- Name: let_go(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.let_go(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_queues text[];
begin
  with free as (
    update holdfast.job j
       set held_by = null, due_at = case when j.ties & 1 = 1 then v_now end,
           claim_order = case when j.ties & 1 = 0 then holdfast.place_in_line(v_now, j.priority) end
      from (select j.id from holdfast.job j
             where j.id = any (p_ids) and j.claim_order is null and j.status in ('PENDING', 'WAITING')
             order by j.id
               for no key update) as l
     where j.id = any (array[l.id::uuid])
    returning j.queue)
  select array_agg(distinct f.queue) into v_queues from free f;
  perform holdfast.wake(v_queues);
end $$;

--
-- Name: let_go_in_silence(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.let_go_in_silence(p_holder uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_set interval := current_setting('idle_in_transaction_session_timeout')::interval;
  v_lease interval;
begin
  select w.lease into v_lease from holdfast.worker w where w.id = p_holder;
  if v_lease is not null and (v_set = '0' or v_set > v_lease) then
    perform set_config('idle_in_transaction_session_timeout', (extract(epoch from least(v_lease, interval '1 day')) * 1000)::int::text, true);
  end if;
end $$;

--
-- Name: limit_queue(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.limit_queue(p_queue text, p_most integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound(format('queue %L', p_queue));
  if p_most not between 1 and 100000 then
    raise exception 'a queue can be limited to 1 to 100,000 jobs at once, not %', p_most
      using errcode = 'HF005', hint = 'To let nothing run, pause the queue.';
  end if;
  insert into holdfast.queue as q (name, job_limit, cleared) values (p_queue, p_most, p_most is null)
  on conflict (name) do update
     set job_limit = excluded.job_limit, cleared = excluded.cleared or (q.cleared and q.job_limit is not null);
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
           where t.name = p_job.task and p_job.compensates is null
          union all
          -- An operator's brake on what runs: who waits, perhaps for others of the queue, runs nothing.
          select 'queue:' || q.name, q.job_limit, 'wait', true
            from holdfast.queue q
           where q.name = p_job.queue and q.job_limit is not null) as l
   order by l.key, l.most
$$;

--
-- Name: lines_kept(uuid, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lines_kept(p_job uuid, p_attempt integer) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select coalesce((select p.first + jsonb_array_length(p.lines)
                     from holdfast.log_part p
                    where p.job_id = p_job and p.attempt = p_attempt
                    order by p.first desc
                    limit 1), 0)
$$;

--
-- Name: link_birth(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.link_birth() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  new.chain := holdfast.linked(uuid_send(new.id), null,
    holdfast.said(new.status, new.updated_at, pg_current_xact_id()::text::bigint, holdfast.made_by(new.retry_of, new.requested_by), new.reason,
      holdfast.told_of_birth(new.retry_of, new.due_at, new.held_by)));
  return new;
end $$;

--
-- Name: linked(bytea, timestamp with time zone, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.linked(p_before bytea, p_since timestamp with time zone, p_said bytea) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN sha256(((p_before || COALESCE(timestamptz_send(p_since), '\x8000000000000001'::bytea)) || p_said));

--
-- Name: list_keys(text, text, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.list_keys(p_bound text, p_id text, p_after text, p_limit integer) RETURNS TABLE(id text, name text, tenant text, scopes text[], created_at timestamp with time zone, created_by text, expires_at timestamp with time zone, revoked_at timestamp with time zone, used_at timestamp with time zone, counts boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: list_people(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.list_people() RETURNS TABLE(name text, role text, tenant text, created_at timestamp with time zone, created_by text, disabled_at timestamp with time zone, signed_in_at timestamp with time zone, sessions bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p.name, p.role, p.tenant::text, p.created_at, p.created_by, p.disabled_at, p.signed_in_at,
         (select count(*) from holdfast.session s where s.person = p.name and holdfast.session_counts(s))
    from holdfast.person p
   where holdfast.may_touch(p.tenant)
   order by p.name
$$;

--
-- Name: listed_fields(jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.listed_fields(p_fields jsonb, p_payload jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (SELECT jsonb_object_agg(f.value, (listed_fields.p_payload -> f.value)) AS jsonb_object_agg FROM jsonb_array_elements_text(listed_fields.p_fields) f(value) WHERE (listed_fields.p_payload ? f.value));

--
-- Name: lock_event(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_event(p_name text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select pg_advisory_xact_lock(hashtextextended('holdfast:event:' || p_name, 0))
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
  if not found or not holdfast.may_touch(v_job.tenant) then
    raise exception 'no job has the id %', p_id using errcode = 'HF009';
  end if;
  return v_job;
end $$;

--
-- Name: lock_jobs(uuid[], text, uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_jobs(p_ids uuid[], p_tenant text DEFAULT NULL::text, p_with uuid[] DEFAULT '{}'::uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
  perform from holdfast.job j
    where j.id = any (p_ids || p_with)
      -- The second for few: it looks through p_with for each of them.
      and (((p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant)) or j.id = any (p_with))
    order by j.status = 'RUNNING' desc, j.id
      for no key update;
  perform from holdfast.slot s
    where s.job_id = any (p_ids)
      -- No exists, of which the planner would make a join that begins with all jobs.
      and (select (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = s.job_id)
    order by s.job_id, s.key
      for update;
end $$;

--
-- Name: lock_key(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_key(p_id text, p_bound text) RETURNS holdfast.api_key
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_key holdfast.api_key;
begin
  select * into v_key from holdfast.api_key k where k.id = p_id and (p_bound is null or k.tenant = p_bound) and holdfast.may_touch(k.tenant) for update;
  if not found then
    raise exception 'no key has the id %', quote_literal(p_id) using errcode = 'HF071';
  end if;
  return v_key;
end $$;

--
-- Name: lock_replaced(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_replaced(p_jobs jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $_$
declare
  v_tenants text[];
  v_tasks text[];
  v_keys text[];
  v_held uuid[];
  v_started uuid[];
begin
  perform holdfast.check_after(p_jobs);
  select array_agg(w.tenant), array_agg(w.task), array_agg(w.key) into v_tenants, v_tasks, v_keys
    from (select coalesce(e.one ->> 'tenant', '') as tenant, t.name::text as task,
                 coalesce(e.one ->> 'key', holdfast.key_of(e.one -> 'payload', t.unique_by)) as key
            from jsonb_array_elements(p_jobs) as e (one)
            join holdfast.task t on t.name = e.one ->> 'task'
           where e.one ->> 'on_conflict' = 'replace'
             and (select j.id from holdfast.job j where j.id = (e.one ->> 'id')::uuid) is null) as w;
  perform pg_advisory_xact_lock(o.turn)
     from (select distinct hashtextextended('holdfast:replace:' || w.tenant || ':' || w.task || ':' || w.key, 0) as turn
             from unnest(v_tenants, v_tasks, v_keys) as w (tenant, task, key)
            order by turn) as o;
  select coalesce(array_agg(j.id) filter (where j.status = 'PENDING'), '{}'), array_agg(j.id) filter (where j.status <> 'PENDING')
    into v_held, v_started
    from unnest(v_tenants, v_tasks, v_keys) as w (tenant, task, key)
    join holdfast.job j on coalesce(j.tenant, '') = w.tenant and j.task = w.task and j.key = w.key and j.key_held;
  perform holdfast.lock_jobs(v_held, null,
    array(select m from holdfast.moved_with(v_held) as m
           union
          select s from unnest(v_started) as s
           union
          select n.id
            from (select (a.id #>> '{}')::uuid as id from jsonb_path_query(p_jobs, '$[*].after[*]') as a (id)) as n
           where (select holdfast.may_touch(j.tenant) from holdfast.job j where j.id = n.id)));
end $_$;

--
-- Name: lock_what_follows(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.lock_what_follows(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_ids uuid[];
begin
  select array_agg(e.id) into v_ids
    from unnest(p_ids) as i (id)
    cross join lateral (select j.id, j.status from holdfast.job j where j.id = i.id limit 1) as e
   where e.status in ('FAILED', 'CANCELLED')
     and coalesce((select true from holdfast.dependency d where d.needs = e.id and d.policy = 'cancel' limit 1),
                  -- Children only where their parent is cancelled: nobody who fails waits for who is at a child that goes on.
                  (select true from holdfast.job c where e.status = 'CANCELLED' and c.parent_id = e.id and c.status = 'PENDING' limit 1));
  if v_ids is not null then
    perform from holdfast.job j
      where j.id = any (array(select m from holdfast.moved_with(v_ids, p_ended => true) as m))
      order by j.id
        for no key update;
  end if;
end $$;

--
-- Name: long_waits(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.long_waits(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'queue:' || l.queue,
         format('the oldest job in queue %s has waited for longer than %s (since %s)', l.queue, holdfast.in_words(p_rule.period),
                to_char(l.since at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')),
         null::uuid, 1::bigint, p_now
    from holdfast.open_lines(p_rule, p_now) as l
   where l.since < p_now - p_rule.period
$$;

--
-- Name: look_by_token(uuid, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.look_by_token(p_approval uuid, p_token_hash bytea) RETURNS TABLE(approver text, tenant text, task text, question text, facts text, requester text, quorum integer, approvals integer, expires_at timestamp with time zone, on_expiry text, bound_hash text, decision text, decided_by text, decided_at timestamp with time zone, reason text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval := holdfast.open_approval(p_approval);
  v_name text := holdfast.token_holder(v_gate, p_token_hash);
begin
  return query
    select v_name, j.tenant::text, j.task::text, v_gate.question, v_gate.facts::text, v_gate.requester, v_gate.quorum::int,
           (holdfast.how_it_stands(v_gate.id, 'seen')).approvals, v_gate.expires_at, v_gate.on_expiry, v_gate.bound_hash,
           v_gate.decision, v_gate.decided_by, v_gate.decided_at, v_gate.reason
      from holdfast.job j
     where j.id = v_gate.job_id and v_name is not null;
end $$;

--
-- Name: low_success_rates(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.low_success_rates(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'task:' || s.task,
         format('%s %% of the %s jobs of task %s that ended within %s COMPLETED; the mark is %s %%',
                trunc(100.0 * sum(s.completed) / sum(s.completed + s.failed), 1), sum(s.completed + s.failed), s.task, holdfast.in_words(p_rule.period),
                round((100 * p_rule.threshold)::numeric, 1)),
         null::uuid, sum(s.failed)::bigint, p_now
         -- What undoes a failure is a job of the same task, and no success of it.
    from (select a.minute, a.queue, a.task, a.completed - a.undo_completed as completed, a.failed - a.undo_failed as failed
            from holdfast.statistic a) as s
   where s.minute > p_now - p_rule.period - interval '1 minute' and not holdfast.is_own_task(s.task)
     and (p_rule.task is null or s.task = p_rule.task) and (p_rule.queue is null or s.queue = p_rule.queue)
   group by s.task
  having sum(s.completed + s.failed) >= p_rule.least and sum(s.completed) < p_rule.threshold * sum(s.completed + s.failed)
$$;

--
-- Name: made_by(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.made_by(p_retry_of uuid, p_requested_by text) RETURNS text
    LANGUAGE sql STABLE
    RETURN CASE WHEN (p_retry_of IS NULL) THEN COALESCE(p_requested_by, holdfast.actor()) ELSE holdfast.actor() END;

--
-- Name: make_append_only(regclass, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.make_append_only(p_table regclass, p_name text, p_words text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  execute format('create or replace trigger %I before update on %s for each row execute function holdfast.refuse(%L)',
                 p_name || '_is_append_only', p_table, p_words || ' append-only: UPDATE is refused');
  execute format('create or replace trigger %I before delete on %s for each row execute function holdfast.guard_removal(%L)',
                 p_name || '_is_kept', p_table, p_words || ' append-only: DELETE is for retention only');
  execute format('create or replace trigger %I before truncate on %s for each statement execute function holdfast.refuse(%L)',
                 p_name || '_is_not_truncated', p_table, p_words || ' append-only: TRUNCATE is refused');
  execute format('alter table %s enable always trigger %I', p_table, p_name || '_is_append_only');
  execute format('alter table %s enable always trigger %I', p_table, p_name || '_is_kept');
  execute format('alter table %s enable always trigger %I', p_table, p_name || '_is_not_truncated');
end $$;

--
-- Name: may_act_as(name, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.may_act_as(p_who name, p_role text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select to_regrole(p_role) is not null
     and pg_has_role(p_who, to_regrole(p_role), case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)
$$;

--
-- Name: may_deadlock(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.may_deadlock(p_jobs jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
declare
  v_many boolean := jsonb_array_length(p_jobs) > 1;
begin
  return p_jobs @? '$[*] ? (@.on_conflict == "replace" || exists(@.after[*]))'
      or (v_many and p_jobs @? '$[*].key')
      or exists (select from (select distinct w.task from jsonb_to_recordset(p_jobs) as w (task text)) as w
                  where (select (v_many and t.unique_by is not null) or t.options @? '$.limits[*] ? (@.policy == "reject")'
                           from holdfast.task t
                          where t.name = w.task));
end $_$;

--
-- Name: seen_tenant(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.seen_tenant() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN NULLIF(current_setting('holdfast.tenant'::text, true), ''::text);

--
-- Name: may_see(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.may_see(p_tenant text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((holdfast.seen_tenant() = ANY (ARRAY['*'::text, p_tenant])), false);

--
-- Name: may_touch(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.may_touch(p_tenant text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN COALESCE((holdfast.bound_tenant() = p_tenant), (holdfast.bound_tenant() IS NULL));

--
-- Name: measure_storage(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.measure_storage(p_blocks integer DEFAULT 2000) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_blocks bigint := pg_relation_size('holdfast.job') / current_setting('block_size')::int;
  v_share float8 := least(1.0, p_blocks::float8 / greatest(v_blocks, 1));
  v_count bigint;
begin
  if exists (select from holdfast.storage s where s.measured_at > v_now - interval '5 minutes' and s.measured_at <= v_now) then
    return null;
  end if;
  delete from holdfast.storage;
  insert into holdfast.storage (tenant, jobs, job_bytes, payload_bytes, result_bytes, history_bytes, share, measured_at)
  select j.tenant, round(count(*) / v_share),
         -- A row's header and what nearly all rows have; texts as long as they are.
         round(sum(200 + pg_column_size(row(j.task, j.queue, j.tenant, j.subject, j.key, j.reason, j.label, j.requested_by, j.trace_parent))) / v_share),
         round(sum(coalesce(pg_column_size(j.payload), 0) + coalesce(pg_column_size(j.metadata), 0) + coalesce(pg_column_size(j.tags), 0)) / v_share),
         round(sum(coalesce(pg_column_size(j.result), 0) + coalesce(pg_column_size(j.error), 0)) / v_share),
         round(sum(h.bytes + a.bytes + l.bytes + s.bytes + c.bytes) / v_share),
         v_share, v_now
    from holdfast.job j tablesample system (100 * v_share)
    cross join lateral (select coalesce(sum(110 + coalesce(pg_column_size(h.reason), 0) + coalesce(pg_column_size(h.metadata), 0)), 0) as bytes
                          from holdfast.job_history h where h.job_id = j.id) as h
    cross join lateral (select coalesce(sum(90 + coalesce(pg_column_size(a.error), 0) + coalesce(pg_column_size(a.logs), 0)), 0) as bytes
                          from holdfast.attempt a where a.job_id = j.id) as a
    cross join lateral (select coalesce(sum(80 + pg_column_size(l.lines)), 0) as bytes from holdfast.log_part l where l.job_id = j.id) as l
    cross join lateral (select coalesce(sum(100 + pg_column_size(s.name) + coalesce(pg_column_size(s.value), 0)), 0) as bytes
                          from holdfast.step s where s.job_id = j.id) as s
    cross join lateral (select coalesce(sum(80 + pg_column_size(c.kind) + coalesce(pg_column_size(c.data), 0)), 0) as bytes
                          from holdfast.activity c where c.job_id = j.id) as c
   group by j.tenant;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

--
-- Name: might_conflict(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.might_conflict(p_jobs jsonb) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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
-- Name: mint_token(uuid, text, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval := holdfast.open_approval(p_approval);
begin
  if v_gate.id is null then
    raise exception 'no approval has the id %', p_approval using errcode = 'HF020';
  end if;
  if v_gate.decided_at is not null then
    raise exception 'approval % is % by % already: there is nothing to ask any more', p_approval, v_gate.decision, v_gate.decided_by
      using errcode = 'HF022', detail = holdfast.closed_detail(v_gate);
  end if;
  approver := (select a from unnest(v_gate.approvers) as a where holdfast.person(a) = holdfast.person(p_approver) limit 1);
  if approver is null then
    raise exception '% is no approver of approval %', quote_nullable(left(p_approver, 200)), p_approval
      using errcode = 'HF005', hint = 'Tokens are for the approvers that the gate names; others decide as authorised persons.';
  end if;
  if not v_gate.self_approval and holdfast.person(approver) = holdfast.person(v_gate.requester) then
    raise exception '% asked for the job and does not decide approval %', quote_literal(approver), p_approval using errcode = 'HF005';
  end if;
  if octet_length(p_token_hash) is distinct from 32 then
    raise exception 'a token is known by its SHA-256, which has 32 bytes' using errcode = 'HF005';
  end if;
  insert into holdfast.approver as r (approval_id, name, token_hash, minted_at)
  values (p_approval, approver, p_token_hash, holdfast.clock())
  on conflict on constraint approver_pkey do update set token_hash = excluded.token_hash, minted_at = excluded.minted_at, used_at = null;
  job_id := v_gate.job_id;
  name := v_gate.name;
  question := v_gate.question;
  facts := v_gate.facts::text;
  quorum := v_gate.quorum;
  expires_at := v_gate.expires_at;
  on_expiry := v_gate.on_expiry;
  bound_hash := v_gate.bound_hash;
end $$;

--
-- Name: missed_schedules(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.missed_schedules(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'schedule:' || s.name,
         case when r.n > 0 then format('%s of schedule %s did not become a job within the last hour (%s)', case r.n when 1 then 'a time' else r.n || ' times' end, s.name, r.outcomes)
              else format('schedule %s is late: it was due at %s', s.name, to_char(s.next_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI "UTC"')) end,
         null::uuid, coalesce(r.n, 1), p_now
    from holdfast.schedule s
    left join (select m.schedule, sum(m.times)::bigint as n, string_agg(distinct m.outcome, ', ') as outcomes
                 from holdfast.schedule_run m
                where m.at > p_now - interval '1 hour' and m.outcome in ('missed', 'refused')
                group by m.schedule) as r on r.schedule = s.name
   where s.paused_at is null and s.withdrawn_at is null
     and (p_rule.task is null or s.task = p_rule.task)
     and (r.n > 0 or s.next_at < p_now - p_rule.period)
$$;

--
-- Name: moment(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.moment(p_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN to_char((p_at AT TIME ZONE 'UTC'::text), 'YYYY-MM-DD HH24:MI:SS "UTC"'::text);

--
-- Name: move_to_queue(uuid, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.move_to_queue(p_id uuid, p_queue text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.check_queue(p_queue);
  perform holdfast.require_changeable('move', v_job);
  perform holdfast.put_into_queue(v_job, p_queue, p_actor, p_reason);
end $$;

--
-- Name: moved_with(uuid[], text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.moved_with(p_ids uuid[], p_tenant text DEFAULT NULL::text, p_ended boolean DEFAULT false) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
begin
  return query
  with recursive doomed as (
    select i.id
      from unnest(p_ids) as i (id)
     where (select (p_ended or j.finished_at is null) and (p_tenant is null or j.tenant = p_tenant) and holdfast.may_touch(j.tenant) from holdfast.job j where j.id = i.id)
    union
    select f.id
      from doomed x
      cross join lateral (
        select d.job_id as id from holdfast.dependency d where d.needs = x.id and d.policy = 'cancel'
        union all
        select c.id::uuid
          from holdfast.job c
         where c.parent_id = x.id and c.status = 'PENDING'
           and (select p.status <> 'FAILED' from holdfast.job p where p.id = x.id)   -- which leaves its children alone
        offset 0) as f
     where (select j.status = 'PENDING' from holdfast.job j where j.id = f.id))
  select x.id from doomed x where x.id <> all (p_ids)
  union
  select d.job_id
    from doomed x
    join holdfast.dependency d on d.needs = x.id and d.position <> 0
   where (select j.status in ('PENDING', 'WAITING') from holdfast.job j where j.id = d.job_id);
end $$;

--
-- Name: mute_rule(text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.mute_rule(p_rule text, p_muted boolean) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound('an alert''s rule');
  update holdfast.alert_rule r set enabled = not p_muted where r.name = p_rule;
  return found;
end $$;

--
-- Name: ring; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.ring (
    queue text NOT NULL,
    tenants text[] NOT NULL,
    heads timestamp with time zone[] NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (fillfactor='50');

--
-- Name: next_tenants(text, text, integer, timestamp with time zone, holdfast.ring); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.next_tenants(p_queue text, p_tenant text, p_most integer, p_after timestamp with time zone, p_known holdfast.ring, OUT tenants text[], OUT heads timestamp with time zone[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_has_none boolean := exists (select from holdfast.job j
                                 where j.queue = p_queue and coalesce(j.tenant, '') = '' and j.claim_order >= p_after and not j.suspect);
  v_none text[] := case when v_has_none then array[''] else '{}' end;
  v_its_head timestamptz[] := case when v_has_none then array[p_after] else '{}' end;
  v_rest record;
begin
  if p_known.queue is not null then
    select array_agg(k.tenant order by k.tenant < p_tenant, k.tenant), array_agg(k.head order by k.tenant < p_tenant, k.tenant)
      into tenants, heads
      from unnest(v_none || p_known.tenants, v_its_head || p_known.heads) as k (tenant, head);
    tenants := tenants[:p_most];
    heads := heads[:p_most];
    return;
  end if;
  select t.tenants, t.heads into tenants, heads from holdfast.tenants_in_line(p_queue, p_tenant, null, p_most) as t;
  if p_tenant = '' then
    tenants := v_none || tenants;
    heads := v_its_head || heads;
  elsif cardinality(tenants) < p_most then
    select t.tenants, t.heads into v_rest from holdfast.tenants_in_line(p_queue, '', p_tenant, p_most - cardinality(tenants)) as t;
    tenants := tenants || v_none || v_rest.tenants;
    heads := heads || v_its_head || v_rest.heads;
  end if;
end $$;

--
-- Name: next_turns(text, integer, timestamp with time zone, boolean, holdfast.ring, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.next_turns(p_queue text, p_left integer, p_after timestamp with time zone, p_is_dry boolean, p_known holdfast.ring, INOUT tenant text, INOUT used integer, OUT tenants text[], OUT heads timestamp with time zone[], OUT shares integer[], OUT is_whole boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  -- Finding a tenant costs a good part of what a job costs: of very many some are served, a little longer. If those had nothing, anybody is.
  v_most int := case when p_is_dry then 1000000 else least(p_left, 256) + 1 end;
begin
  select n.tenants, n.heads into tenants, heads from holdfast.next_tenants(p_queue, tenant, v_most, p_after, p_known) as n;
  is_whole := cardinality(tenants) < v_most;
  select o.shares, o.tenant, o.used into shares, tenant, used from holdfast.share_out(tenants, is_whole, p_left, p_is_dry::int, tenant, used) as o;
end $$;

--
-- Name: no_schedule(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.no_schedule(p_name text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'no schedule is called %', quote_literal(p_name) using errcode = 'HF061', hint = 'holdfast schedule list shows them.';
end $$;

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
-- Name: note_cleared(text, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.note_cleared(p_queue text, p_cleared boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
begin
  perform from holdfast.queue q where q.name = p_queue and q.cleared <> p_cleared for no key update skip locked;
  if found and not (p_cleared and exists (select from holdfast.job j
                                           where j.queue = p_queue and j.claim_order is not null and not j.suspect
                                          offset 10000)) then
    update holdfast.queue q set cleared = p_cleared where q.name = p_queue;
  end if;
end $$;

--
-- Name: notify(jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb DEFAULT NULL::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_message record;
begin
  perform holdfast.require_unbound('a message');
  if p_declared is not null then
    perform holdfast.declare_tasks(p_declared);
  end if;
  for v_message in
    select * from jsonb_to_recordset(p_messages) as m (id uuid, channel text, recipient text, subject text, body text, priority int)
  loop
    if not exists (select from holdfast.task t where t.name = 'holdfast.notify.' || v_message.channel) then
      raise exception 'no channel is called %', quote_nullable(v_message.channel)
        using errcode = 'HF005', hint = 'Declare it with app.alerts.to(…) and start a worker of that app. Nothing was sent.';
    end if;
    perform holdfast.put_notification(coalesce(v_message.id, holdfast.new_id()), 'message', v_message.channel, v_message.recipient, null, null,
              v_message.subject, v_message.body, coalesce(v_message.priority, 0));
  end loop;
end $$;

--
-- Name: obey_callback(holdfast.job, holdfast.dispatch, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.obey_callback(p_job holdfast.job, p_run holdfast.dispatch, p_action text, p_data jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_run holdfast.dispatch;
begin
  -- A sign of life proves that the executor has it, whatever became of the call: nobody needs to call again.
  update holdfast.dispatch d
     set state = 'sent', doubtful = false, next_try_at = null,
         sent_at = coalesce(d.sent_at, v_now), started_at = coalesce(d.started_at, v_now), seen_at = v_now,
         run_id = coalesce(d.run_id, p_data ->> 'run_id'), run_url = coalesce(p_data ->> 'run_url', d.run_url)
   where d.id = p_run.id
  returning * into v_run;
  perform holdfast.note(p_job.id, 'callback.' || p_action, 'executor:' || v_run.executor, jsonb_strip_nulls(jsonb_build_object(
    'attempt', v_run.attempt, 'run_id', v_run.run_id, 'done', p_data -> 'done', 'total', p_data -> 'total', 'note', p_data -> 'note',
    'step', p_data -> 'step')));
  case p_action
    when 'progress' then
      insert into holdfast.progress as p (job_id, attempt, at, done, total, note)
      values (p_job.id, v_run.attempt, v_now, (p_data ->> 'done')::float8, (p_data ->> 'total')::float8, p_data ->> 'note')
      on conflict (job_id) do update
         set attempt = excluded.attempt, at = excluded.at, done = excluded.done, total = excluded.total, note = excluded.note;
    when 'completed' then
      perform holdfast.complete_run(p_job, v_run, nullif(p_data -> 'result', 'null'));
    when 'failed' then
      perform holdfast.fail_run(p_job, v_run,
        jsonb_build_object('type', coalesce(p_data ->> 'type', 'RunFailed'), 'kind', 'executor',
                           'recoverable', coalesce((p_data ->> 'recoverable')::boolean, true),
                           'message', coalesce(p_data ->> 'message', 'the run failed and did not say why'), 'step', p_data ->> 'step'),
        concat_ws(', ', coalesce(p_data ->> 'message', 'the run failed'), 'step ' || (p_data ->> 'step'), 'run ' || v_run.run_id),
        'executor:' || v_run.executor, false);
    else
      null;   -- started, heartbeat: being heard is all there is to it
  end case;
end $$;

--
-- Name: person(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.person(p_name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN lower(btrim(p_name));

--
-- Name: objection(holdfast.approval, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.objection(p_gate holdfast.approval, p_who text, p_decision text, p_reason text, p_seen_hash text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN ((NOT (p_gate).self_approval) AND (holdfast.person(p_who) = holdfast.person((p_gate).requester))) THEN 'whoever asked for the job does not decide; cancel the job to withdraw it'::text WHEN ((cardinality((p_gate).approvers) > 0) AND (NOT (EXISTS (SELECT FROM unnest((objection.p_gate).approvers) a(a) WHERE (holdfast.person(a.a) = holdfast.person(objection.p_who)))))) THEN format('only %s may decide'::text, array_to_string((p_gate).approvers, ', '::text)) WHEN ((p_seen_hash IS NOT NULL) AND (p_seen_hash <> (p_gate).bound_hash)) THEN 'what was shown is not what is asked: look at it again'::text WHEN ((p_decision = 'deny'::text) AND (COALESCE(btrim(p_reason), ''::text) = ''::text)) THEN 'a denial needs a reason'::text ELSE NULL::text END;

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
      v_queues := v_queues || holdfast.unpark('limit:' || v_key.key, v_key.free);
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
    SET jit TO 'off'
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
-- Name: open_approval(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_approval(p_approval uuid) RETURNS holdfast.approval
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval;
begin
  select * into v_gate from holdfast.approval a where a.id = p_approval;
  perform from holdfast.job j where j.id = v_gate.job_id and holdfast.may_touch(j.tenant) for no key update;
  if not found then
    return null;
  end if;
  select * into v_gate from holdfast.approval a where a.id = p_approval for no key update;
  if v_gate.decided_at is null and v_gate.expires_at <= holdfast.clock() then
    perform holdfast.settle_expiry(v_gate);
    select * into v_gate from holdfast.approval a where a.id = p_approval;
  end if;
  return v_gate;
end $$;

--
-- Name: open_channel(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_channel(p_channel text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.channel as c (name, last_id, last_at, listened_at)
  select p_channel, p.channel_floor, holdfast.clock(), holdfast.clock()
    from holdfast.projection p
   where holdfast.channel_tenant(p_channel) is null or holdfast.may_touch(holdfast.channel_tenant(p_channel))
  on conflict (name) do update
     set listened_at = excluded.listened_at
   where c.listened_at is null or c.listened_at < excluded.listened_at - interval '1 hour'
$$;

--
-- Name: open_jobs(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_jobs(p_schedule text) RETURNS SETOF uuid
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select j.id
    from (select r.job_id
            from holdfast.schedule_run r
           where r.schedule = p_schedule and r.outcome in ('fired', 'manual')
           order by r.slot desc
           limit 100) as r
    join holdfast.job j on j.id = r.job_id
   where j.finished_at is null
   order by j.id
$$;

--
-- Name: open_lines(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.open_lines(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(queue text, since timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  -- Not the queues that somebody has declared: jobs can be enqueued into any, and those are the ones that nobody serves. Hops along the index.
  with recursive in_line as (
    (select j.queue::text as name
       from holdfast.job j
      where p_rule.queue is null and j.claim_order is not null and not j.suspect
      order by j.queue
      limit 1)
    union all
    select (select j.queue::text
              from holdfast.job j
             where j.claim_order is not null and not j.suspect and j.queue > l.name
             order by j.queue
             limit 1)
      from in_line l
     where l.name is not null)
  select n.name, holdfast.waiting_since(n.name)
    from (select l.name from in_line l where l.name <> 'holdfast'
          union all
          select p_rule.queue::text where p_rule.queue is not null) as n
    left join holdfast.queue q on q.name = n.name
   where q.paused_at is null or q.resume_at <= p_now
$$;

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
-- Name: operation; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.operation (
    id uuid NOT NULL,
    created_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    tenant holdfast.name,
    action text NOT NULL,
    search text NOT NULL,
    actor text NOT NULL,
    reason text,
    total integer NOT NULL,
    priority smallint,
    queue text,
    CONSTRAINT operation_action_is_known CHECK ((action = ANY (ARRAY['retry'::text, 'cancel'::text, 'reprioritise'::text, 'move'::text, 'delete'::text]))),
    CONSTRAINT operation_reason_has_500_characters_at_most CHECK ((length(reason) <= 500)),
    CONSTRAINT operation_says_what_its_jobs_get CHECK ((((action = 'reprioritise'::text) = (priority IS NOT NULL)) AND ((action = 'move'::text) = (queue IS NOT NULL))))
);

--
-- Name: operate(holdfast.operation, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.operate(p_operation holdfast.operation, p_job uuid) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_reason text := concat_ws(' ', p_operation.reason, format('(operation %s)', p_operation.id));
  v_job holdfast.job;
  v_problem text;
begin
  select * into v_job
    from holdfast.job j
   where j.id = p_job and (p_operation.tenant is null or j.tenant = p_operation.tenant)
     for no key update;
  if not found then
    return 'it is not there any more';
  end if;
  if p_operation.action = 'retry' then
    begin
      perform holdfast.retry(p_job, p_operation.actor, v_reason);
      return null;
    exception when sqlstate 'HF008' or sqlstate 'HF012' then   -- also what a limit rejects
      return sqlerrm;
    end;
  end if;
  v_problem := holdfast.why_unchanged(p_operation.action, v_job);
  if v_problem is not null then
    return v_problem;
  end if;
  case p_operation.action
    when 'cancel' then perform holdfast.cancel(p_job, p_operation.actor, v_reason);
    when 'reprioritise' then perform holdfast.put_at(v_job, p_operation.priority, p_operation.actor, v_reason);
    when 'move' then perform holdfast.put_into_queue(v_job, p_operation.queue, p_operation.actor, v_reason);
    when 'delete' then perform holdfast.take_away(v_job, p_operation.actor, null, p_operation.reason, p_operation.id);
  end case;
  return null;
end $$;

--
-- Name: overdue_approvals(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.overdue_approvals(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'approval:' || a.id,
         format('approval %s of job %s (task %s) ', a.name, a.job_id, j.task)
         || case when a.asked_at < p_now - p_rule.period then format('has waited for longer than %s', holdfast.in_words(p_rule.period))
                 else format('expires within %s', holdfast.in_words(make_interval(secs => p_rule.threshold))) end,
         a.job_id, 1::bigint, p_now
    from (select a.id, a.job_id, a.name, a.asked_at, a.expires_at from holdfast.approval a where a.decided_at is null order by a.id limit 1000) as a
    join holdfast.job j on j.id = any (array[a.job_id])
   where (a.asked_at < p_now - p_rule.period or a.expires_at < p_now + make_interval(secs => p_rule.threshold))
     and (a.expires_at is null or a.expires_at > p_now)
     and (p_rule.task is null or j.task = p_rule.task) and (p_rule.queue is null or j.queue = p_rule.queue) and (p_rule.tenant is null or j.tenant = p_rule.tenant)
$$;

--
-- Name: own_jobs(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.own_jobs(p_jobs jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
declare
  v_own jsonb := jsonb_build_object('tenant', holdfast.bound_tenant());
  v_nth bigint;
  v_one jsonb;
begin
  select e.nth, e.one into v_nth, v_one
    from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
   where not holdfast.may_touch(case when e.one ->> 'tenant' is null and not coalesce(e.one -> 'payload' ? '$encrypted', false)
                                     then holdfast.bound_tenant() else e.one ->> 'tenant' end)
      or (e.one ->> 'parent' is not null and not exists (
            select from holdfast.job j where j.id = (e.one ->> 'parent')::uuid and holdfast.may_touch(j.tenant)))
   order by e.nth
   limit 1;
  if found then
    perform holdfast.require_own(null, format(case when v_one ->> 'tenant' is null and v_one -> 'payload' ? '$encrypted'
                                                   then 'job %s, which is encrypted for no tenant,' else 'job %s' end, v_nth));
  end if;
  return (select coalesce(jsonb_agg(e.one || v_own order by e.nth), '[]') from jsonb_array_elements(p_jobs) with ordinality as e (one, nth));
end $_$;

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
-- Name: pass_on_turns(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pass_on_turns(p_jobs uuid[]) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_key text;
  v_first holdfast.job;
  v_most int;
  v_queues text[] := '{}';
begin
  for v_key in
    select distinct s.key
      from unnest(p_jobs) as p (id)
     -- "offset 0": job by job, or a plan made for an empty table reads all that wait.
     cross join lateral (
       select w.key, w.job_id from holdfast.slot w where w.job_id = p.id and w.n is null offset 0) as s
     where (select j.held_by from holdfast.job j where j.id = s.job_id) <> 'limit:' || s.key
  loop
    select * into v_first
      from holdfast.job j
     where j.held_by collate "C" = 'limit:' || v_key and j.held_by is not null and j.claim_order is null
     order by j.held_by collate "C", holdfast.parked_place(j.due_at, j.created_at, j.priority), j.id
     limit 1;
    continue when not found;
    select l.most into v_most from holdfast.limits_of(v_first) as l where l.key = v_key;
    if v_most > (select count(*) from (select from holdfast.slot s where s.key = v_key and s.n is not null limit v_most) as taken) then
      v_queues := v_queues || holdfast.unpark('limit:' || v_key, 250);
    end if;
  end loop;
  return v_queues;
end $$;

--
-- Name: pause_queue(text, text, text, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pause_queue(p_queue text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_resume_in interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound(format('queue %L', p_queue));
  insert into holdfast.queue (name, paused_at, paused_by, reason, resume_at)
  values (p_queue, holdfast.clock(), coalesce(p_actor, session_user), p_reason, holdfast.clock() + p_resume_in)
  on conflict (name) do update
     set paused_at = coalesce(queue.paused_at, excluded.paused_at), paused_by = excluded.paused_by,
         reason = excluded.reason, resume_at = excluded.resume_at;
end $$;

--
-- Name: pause_schedule(text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pause_schedule(p_name text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.find_schedule(p_name);
  update holdfast.schedule s
     set paused_at = coalesce(s.paused_at, holdfast.clock()), paused_by = coalesce(p_actor, session_user), reason = p_reason,
         updated_at = holdfast.clock()
   where s.name = p_name;
end $$;

--
-- Name: pause_task(text, text, text, interval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.pause_task(p_task text, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text, p_resume_in interval DEFAULT NULL::interval) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound(format('task %L', p_task));
  update holdfast.task t
     set paused_at = coalesce(t.paused_at, holdfast.clock()), paused_by = coalesce(p_actor, session_user), pause_reason = p_reason,
         resume_at = holdfast.clock() + p_resume_in
   where t.name = p_task;
  if not found then
    raise exception 'no task is called %', quote_literal(p_task) using errcode = 'HF004', hint = 'holdfast task list shows them.';
  end if;
end $$;

--
-- Name: period_start(text, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.period_start(p_period text, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN (date_trunc(p_period, (p_now AT TIME ZONE 'UTC'::text)) AT TIME ZONE 'UTC'::text);

--
-- Name: place_in_line(timestamp with time zone, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.place_in_line(p_due timestamp with time zone, p_priority integer) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (p_due - ((p_priority)::double precision * '00:00:36'::interval));

--
-- Name: project(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.project(p_limit integer DEFAULT 10000, OUT projected bigint, OUT events bigint, OUT more boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_cursor holdfast.projection;
  v_running bigint[];
  v_from bigint;
  v_to bigint;
  v_cut bigint;
  v_further text;
begin
  projected := 0;
  events := 0;
  more := false;
  if not holdfast.has_unprojected() then
    return;
  end if;
  select * into v_cursor from holdfast.projection p for update skip locked;
  if not found then
    projected := null;
    events := null;
    more := null;
    return;
  end if;
  if v_cursor.cluster is distinct from holdfast.cluster() then
    perform holdfast.adopt_restored(v_cursor);
    more := true;
    return;
  end if;

  if exists (select from holdfast.left_over) then   -- before all that came later
    select * into projected, events from holdfast.project_slice(0, 0, 0, '{}', '{}', p_limit, v_cursor);
    more := true;
    return;
  end if;
  -- Its own transaction is in nobody's list of the running, and what it writes is for the next pass.
  select holdfast.running_in(s) || pg_current_xact_id()::text::bigint, pg_snapshot_xmax(s)::text::bigint
    into v_running, v_to
    from pg_current_snapshot() as s;
  v_from := pg_snapshot_xmax(v_cursor.snapshot)::text::bigint;
  v_cut := holdfast.end_of_slice(v_from, v_to, p_limit);
  loop
    begin
      select * into projected, events
        from holdfast.project_slice(
          v_from, v_cut, v_to, v_running,
          array(select x from unnest(holdfast.running_in(v_cursor.snapshot)) as x where x <> all (v_running)),
          p_limit, v_cursor);
      exit;
    exception when sqlstate 'HF014' then   -- too short: again, as far as it says
      get stacked diagnostics v_further = pg_exception_detail;
      v_cut := v_further::bigint;
    end;
  end loop;
  update holdfast.projection p
     set snapshot = holdfast.as_snapshot(v_cut, v_running), ran_at = holdfast.clock();
  more := v_cut < v_to;
end $$;

--
-- Name: project_slice(bigint, bigint, bigint, bigint[], bigint[], integer, holdfast.projection); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.project_slice(p_from bigint, p_to bigint, p_end bigint, p_running bigint[], p_ended bigint[], p_limit integer, p_cursor holdfast.projection, OUT projected bigint, OUT events bigint) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET max_parallel_workers_per_gather TO '0'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
declare
  v_adopted_at timestamptz := p_cursor.adopted_at;
  v_floor bigint := p_cursor.channel_floor;
  v_channels text[];
  v_tenants text[];
  v_further bigint;
begin
  with taken as (
    delete from holdfast.left_over l
     where l.ctid = any (array(select o.ctid from holdfast.left_over o order by o.at, o.job_id, o.seq limit p_limit))
    returning l.job_id, l.seq, l.activity),
  fresh as (
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from holdfast.job_history h
     where h.xid >= p_from and h.xid < p_to and h.xid <> all (p_running) and holdfast.is_native(h.xid, h.xmin, h.at, v_adopted_at)
    union all
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from holdfast.job_history h
     where h.xid = any (p_ended) and holdfast.is_native(h.xid, h.xmin, h.at, v_adopted_at)
    union all
    select h.job_id, h.seq, h.from_status, h.to_status, h.attempt, h.since, h.at, h.metadata
      from taken
      join holdfast.job_history h on h.job_id = taken.job_id and h.seq = taken.seq),
  moves as materialized (
    select f.job_id, f.seq, f.from_status, f.to_status, f.attempt, f.at, f.metadata,
           case when j.ties & 16 = 0 then j.queue::text else holdfast.queue_at(j.id, f.seq, j.queue) end as queue,
           j.task::text, j.tenant::text, j.subject::text, j.retry_count, j.compensates is not null as undoes,
           case when f.from_status = 'RUNNING' then f.at - f.began end as ran,
           case when f.from_status = 'RUNNING' and o.since is not null then f.at - greatest(o.since, f.began) end as ran_outside,
           case when f.to_status = 'RUNNING' then greatest(f.at - f.since, interval '0') end as waited
      from (select fresh.*,
                   -- A row from before 0002 does not say when its attempt began; the row before it does.
                   coalesce(fresh.since, case when fresh.from_status = 'RUNNING' then (
                     select b.at from holdfast.job_history b where b.job_id = fresh.job_id and b.seq = fresh.seq - 1) end) as began
              from fresh) as f
      join holdfast.job j on j.id = f.job_id
      left join lateral holdfast.held_outside(case when f.from_status = 'RUNNING' then f.job_id end, f.attempt) as o on o.since is not null),
  happenings as materialized (
    select a.id, a.job_id, a.at, a.kind, a.data, j.task::text, j.tenant::text, j.subject::text
      from (select a.id, a.job_id, a.at, a.kind, a.data
              from holdfast.activity a
             where a.xid >= p_from and a.xid < p_to and a.xid <> all (p_running) and holdfast.is_native(a.xid, a.xmin, a.at, v_adopted_at)
            union all
            select a.id, a.job_id, a.at, a.kind, a.data
              from holdfast.activity a
             where a.xid = any (p_ended) and holdfast.is_native(a.xid, a.xmin, a.at, v_adopted_at)
            union all
            select a.id, a.job_id, a.at, a.kind, a.data from taken join holdfast.activity a on a.id = taken.activity) as a
      join holdfast.job j on j.id = a.job_id),
  released as (
    delete from holdfast.published p
     where p.id = any (array(select o.id from holdfast.published o order by o.id limit p_limit))
    returning p.id, p.at, p.channel, p.kind, p.data),

  -- Added up once, finely; the tables take their sums from these few rows.
  lots as materialized (
    select date_bin('1 minute', m.at, '2000-01-01') as minute, m.queue, m.task, m.tenant, m.from_status, m.to_status,
           holdfast.bucket_of(coalesce(m.waited, m.ran)) as bucket,
           case when m.to_status in ('COMPLETED', 'FAILED') then m.retry_count end as retries, m.undoes,
           count(*) as n, count(m.waited) as waits, sum(m.waited) as waited, count(m.ran) as runs, sum(m.ran) as ran,
           sum(m.ran_outside) as ran_outside, sum(m.attempt) as attempts
      from moves m
     group by 1, m.queue, m.task, m.tenant, m.from_status, m.to_status, 7, 8, m.undoes),
  counted as (
    insert into holdfast.statistic as s (minute, queue, task, enqueued, started, completed, failed, cancelled, retried, suspended, waits, waited, runs, ran,
                                       undo_completed, undo_failed)
    select l.minute, l.queue, l.task,
           coalesce(sum(l.n) filter (where l.from_status is null), 0), coalesce(sum(l.n) filter (where l.to_status = 'RUNNING'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'FAILED'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'CANCELLED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'RETRY'), 0),
           coalesce(sum(l.n) filter (where l.to_status in ('WAITING', 'WAITING_FOR_APPROVAL')), 0),
           sum(l.waits), coalesce(sum(l.waited), '0'), sum(l.runs), coalesce(sum(l.ran), '0'),
           coalesce(sum(l.n) filter (where l.undoes and l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.undoes and l.to_status = 'FAILED'), 0)
      from lots l
     group by l.minute, l.queue, l.task
    on conflict (minute, queue, task) do update
       set enqueued = s.enqueued + excluded.enqueued, started = s.started + excluded.started, completed = s.completed + excluded.completed,
           failed = s.failed + excluded.failed, cancelled = s.cancelled + excluded.cancelled, retried = s.retried + excluded.retried,
           suspended = s.suspended + excluded.suspended, waits = s.waits + excluded.waits, waited = s.waited + excluded.waited,
           runs = s.runs + excluded.runs, ran = s.ran + excluded.ran,
           undo_completed = s.undo_completed + excluded.undo_completed, undo_failed = s.undo_failed + excluded.undo_failed),
  timed as (
    insert into holdfast.timing as t (minute, queue, task, what, bucket, count)
    select l.minute, l.queue, l.task, case when l.waits > 0 then 'wait' else 'run' end, l.bucket, sum(l.n)
      from lots l
     where l.bucket is not null
     group by l.minute, l.queue, l.task, 4, l.bucket
    union all
    select l.minute, l.queue, l.task, 'retries', l.retries, sum(l.n)
      from lots l
     where l.retries is not null
     group by l.minute, l.queue, l.task, l.retries
    on conflict (minute, what, task, queue, bucket) do update set count = t.count + excluded.count),
  lasted as (
    insert into holdfast.duration as d (queue, task, what, bucket, count, seconds)
    select l.queue, l.task, case when l.waits > 0 then 'wait' else 'run' end, (l.bucket + 7) / 8, sum(l.n),
           extract(epoch from sum(coalesce(l.waited, l.ran)))
      from lots l
     where l.bucket is not null
     group by l.queue, l.task, 3, 4
    on conflict (queue, task, what, bucket) do update set count = d.count + excluded.count, seconds = d.seconds + excluded.seconds),
  tallied as (
    insert into holdfast.tally as t (queue, task, status, entered, departed)
    select e.queue, e.task, e.status, sum(e.entered), sum(e.departed)
      from (select l.queue, l.task, l.to_status as status, l.n as entered, 0 as departed from lots l
            union all
            select l.queue, l.task, l.from_status, 0, l.n from lots l where l.from_status is not null
            union all
            select q.name, h.task, (h.data ->> 'status')::holdfast.job_status, q.entered, 1 - q.entered
              from happenings h
              cross join lateral (values (h.data ->> 'to', 1), (h.data ->> 'from', 0)) as q (name, entered)
             where h.kind = 'job.moved') as e
     group by e.queue, e.task, e.status
    on conflict (queue, task, status) do update set entered = t.entered + excluded.entered, departed = t.departed + excluded.departed),
  used as (
    insert into holdfast.usage as u (day, tenant, task, enqueued, runs, completed, failed, cancelled, retried, attempts, run_seconds, external_seconds)
    select (l.minute at time zone 'UTC')::date, l.tenant, l.task,
           coalesce(sum(l.n) filter (where l.from_status is null), 0), coalesce(sum(l.n) filter (where l.to_status = 'RUNNING'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'COMPLETED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'FAILED'), 0),
           coalesce(sum(l.n) filter (where l.to_status = 'CANCELLED'), 0), coalesce(sum(l.n) filter (where l.to_status = 'RETRY'), 0),
           coalesce(sum(l.attempts) filter (where l.to_status in ('COMPLETED', 'FAILED', 'CANCELLED')), 0),
           coalesce(extract(epoch from sum(l.ran)), 0), coalesce(extract(epoch from sum(l.ran_outside)), 0)
      from lots l
     group by 1, l.tenant, l.task
    on conflict (day, tenant, task) do update
       set enqueued = u.enqueued + excluded.enqueued, runs = u.runs + excluded.runs, completed = u.completed + excluded.completed,
           failed = u.failed + excluded.failed, cancelled = u.cancelled + excluded.cancelled, retried = u.retried + excluded.retried,
           attempts = u.attempts + excluded.attempts, run_seconds = u.run_seconds + excluded.run_seconds,
           external_seconds = u.external_seconds + excluded.external_seconds
    returning u.tenant),

  told as (
    select m.job_id, m.at, 0 as source, m.seq::bigint as place, m.subject, m.tenant, holdfast.event_kind(m.to_status) as kind,
           jsonb_strip_nulls(jsonb_build_object(
             'task', m.task, 'status', m.to_status, 'from', m.from_status, 'attempt', m.attempt, 'seq', m.seq,
             'due_at', m.metadata -> 'due_at', 'error', holdfast.error_class(m.metadata), 'fields', fields.listed)) as data
      from moves m
      left join lateral (
        select holdfast.listed_fields(t.options -> 'feed_fields', j.payload) as listed
          from holdfast.task t
          join holdfast.job j on j.id = m.job_id
         where t.name = m.task and jsonb_typeof(t.options -> 'feed_fields') = 'array') as fields on true
     where m.subject is not null or m.tenant is not null
    union all
    select h.job_id, h.at, 1, h.id, h.subject, h.tenant, h.kind,
           jsonb_build_object('task', h.task) || coalesce(h.data, '{}') - 'reason'   -- a person's words are for the history
      from happenings h
     where h.subject is not null or h.tenant is not null),
  addressed as materialized (
    select 'subject:' || t.subject as channel, t.job_id, t.at, t.source, t.place, t.kind, t.data from told t where t.subject is not null
    union all
    select 'tenant:' || t.tenant, t.job_id, t.at, t.source, t.place, t.kind, t.data
      from told t
     where t.tenant is not null
       and exists (select from holdfast.channel c where c.name = 'tenant:' || t.tenant and c.listened_at is not null)
    union all
    select r.channel, null, r.at, 2, r.id, r.kind, r.data from released r),
  opened as (
    insert into holdfast.channel as c (name, last_id, last_at)
    select a.channel, v_floor + count(*), max(a.at)
      from addressed a
     group by a.channel
    on conflict (name) do update set last_id = c.last_id + excluded.last_id - v_floor, last_at = greatest(c.last_at, excluded.last_at)
    returning c.name, c.listened_at),
  numbered as (
    insert into holdfast.feed (channel, id, job_id, at, kind, data)
    select a.channel,
           coalesce((select c.last_id from holdfast.channel c where c.name = a.channel), v_floor)
             -- A job's moves in their order, whatever else happened meanwhile: at never goes back within a job.
             + row_number() over (partition by a.channel order by a.at, a.job_id, a.source, a.place),
           a.job_id, a.at, a.kind, a.data
      from addressed a
    returning 1)
  select (select coalesce(sum(l.n), 0) from lots l) + (select count(*) from happenings) + (select count(*) from released), (select count(*) from numbered),
         (select array_agg(o.name) from opened o where o.listened_at is not null),
         (select array_agg(distinct u.tenant) from used u where u.tenant is not null),
         -- Transactions may have got their numbers in another order than they moved one job: what it did before lies behind the cut.
         (select max(b.xid) + 1
            from addressed a
            join holdfast.job_history b on b.job_id = a.job_id and b.seq = a.place - 1
           where p_to < p_end and a.source = 0 and b.xid >= p_to and b.xid < p_end)
    into projected, events, v_channels, v_tenants, v_further;
  if v_further is not null then
    raise exception 'the slice ends between two moves of a job' using errcode = 'HF014', detail = v_further;
  end if;
  perform pg_notify('holdfast_feed', c) from unnest(v_channels) as c;
  if exists (select from holdfast.quota q where q.tenant = any (v_tenants)) then
    perform holdfast.judge_quotas(v_tenants);
  end if;
end $$;

--
-- Name: publish(text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_own(holdfast.channel_tenant(p_channel), format('channel %L', p_channel));
  if jsonb_typeof(p_data) is distinct from 'object' then
    raise exception 'event % has data that is no JSON object but %', quote_literal(p_kind), coalesce(jsonb_typeof(p_data), 'missing') using errcode = 'HF005';
  end if;
  if octet_length(p_data::text) > 65536 then
    raise exception 'event % has % bytes of data; at most 65,536 (64 KiB) fit', quote_literal(p_kind), octet_length(p_data::text)
      using errcode = 'HF005', hint = 'Store the data elsewhere and publish its id.';
  end if;
  insert into holdfast.published (at, channel, kind, data) values (holdfast.clock(), p_channel, p_kind, p_data);
end $$;

--
-- Name: put_aside(holdfast.job, timestamp with time zone, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.put_aside(p_job holdfast.job, p_due_at timestamp with time zone, p_held_by text, p_reason text, p_logs jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_name text := holdfast.holder_name(p_job.holder);
begin
  perform set_config('holdfast.actor', v_name, true);
  update holdfast.job j
     set status = 'WAITING', holder = null, deadline_at = null, suspect = false, claim_order = null, due_at = p_due_at, held_by = p_held_by,
         reason = p_reason
   where j.id = p_job.id;
  perform holdfast.keep_logs(p_job, v_name, 'waiting', p_logs);
end $$;

--
-- Name: put_at(holdfast.job, integer, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.put_at(p_job holdfast.job, p_priority integer, p_actor text, p_reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_job.priority = p_priority then
    return;
  end if;
  update holdfast.job j
     set priority = p_priority, claim_order = holdfast.place_in_line(holdfast.ready_since(j.claim_order, j.priority), p_priority)
   where j.id = p_job.id;
  perform holdfast.note(p_job.id, 'job.reprioritised', p_actor,
            jsonb_strip_nulls(jsonb_build_object('from', p_job.priority, 'to', p_priority, 'reason', p_reason)));
  if p_job.claim_order is not null then
    perform holdfast.wake(array[p_job.queue::text]);   -- a claim may have passed it over while it was locked
  end if;
end $$;

--
-- Name: put_into_queue(holdfast.job, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.put_into_queue(p_job holdfast.job, p_queue text, p_actor text, p_reason text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_old_key text := 'queue:' || p_job.queue;
  v_is_limited boolean := exists (select from holdfast.queue q where q.name = p_queue and q.job_limit is not null);
  v_freed text[];
begin
  if p_job.queue = p_queue then
    return;
  end if;
  update holdfast.job j
     set queue = p_queue,
         ties = j.ties | 16 | v_is_limited::int,
         due_at = case when j.held_by = 'limit:' || v_old_key then coalesce(j.due_at, holdfast.clock()) else j.due_at end,
         held_by = nullif(j.held_by, 'limit:' || v_old_key)
   where j.id = p_job.id
  returning j.* into p_job;
  if v_is_limited and p_job.claim_order is not null then
    perform holdfast.leave_line(p_job, null);
  end if;
  with given as (
    delete from holdfast.slot s where s.job_id = p_job.id and s.key = v_old_key returning s.key, s.n)
  select array_agg(g.key) filter (where g.n is not null) into v_freed from given g;
  perform holdfast.note(p_job.id, 'job.moved', p_actor, jsonb_strip_nulls(jsonb_build_object(
            'from', substr(v_old_key, 7), 'to', p_queue, 'status', p_job.status, 'seq', p_job.seq, 'reason', p_reason)));
  if v_freed is not null then
    perform holdfast.offer_slots(v_freed);
  end if;
  perform holdfast.wake(array[p_queue]);
end $$;

--
-- Name: put_notification(uuid, text, text, text, uuid, uuid, text, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.put_notification(p_id uuid, p_kind text, p_channel text, p_recipient text, p_alert uuid, p_approval uuid, p_subject text, p_body text, p_priority integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job uuid := holdfast.new_id();
  v_tenant text := current_setting('holdfast.tenant', true);
begin
  insert into holdfast.notification (id, kind, channel, recipient, alert_id, approval_id, subject, body, priority, job_id, created_at)
  values (p_id, p_kind, p_channel, p_recipient, p_alert, p_approval, p_subject, p_body, p_priority, v_job, holdfast.clock())
  on conflict (id) do nothing;   -- the answer to the first call was lost
  if found then
    -- The message is ours, whoever's deed it tells of.
    perform set_config('holdfast.tenant', '', true);
    perform holdfast.enqueue_many(jsonb_build_array(jsonb_build_object('id', v_job, 'task', 'holdfast.notify.' || p_channel,
              'payload', jsonb_build_object('notification', p_id), 'priority', p_priority, 'requested_by', 'holdfast')));
    perform set_config('holdfast.tenant', coalesce(v_tenant, ''), true);
  end if;
end $$;

--
-- Name: put_schedule(jsonb, boolean, boolean); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.put_schedule(p_definition jsonb, p_declared boolean, p_replace boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_anchor timestamptz := date_trunc('second', v_now);
begin
  if not exists (select from holdfast.task t where t.name = p_definition ->> 'task') then
    raise exception 'schedule %: task % is not registered in this database', quote_literal(p_definition ->> 'name'), quote_literal(p_definition ->> 'task')
      using errcode = 'HF004', hint = 'Start a worker that has it (holdfast -a module:app worker), or check the name.';
  end if;
  insert into holdfast.schedule as old (name, task, payload, options, cron, every, tz, anchor, missed, overlap, declared, settled_to, counted_from,
         created_at, updated_at)
  select d.name, d.task, coalesce(d.payload, '{}'), coalesce(d.options, '{}'), d.cron, make_interval(secs => d.every), coalesce(d.tz, 'UTC'), v_anchor,
         coalesce(d.missed, 'one'), coalesce(d.overlap, 'allow'), p_declared, v_now, v_now, v_now, v_now
    from jsonb_to_record(p_definition) as d (name text, task text, payload jsonb, options jsonb, cron text, every float8, tz text, missed text, overlap text)
  on conflict (name) do update
     set task = excluded.task, payload = excluded.payload, options = excluded.options, missed = excluded.missed, overlap = excluded.overlap,
         cron = excluded.cron, every = excluded.every, tz = excluded.tz, declared = excluded.declared, withdrawn_at = null, updated_at = v_now,
         version = old.version + 1,
         anchor = case when old.every is distinct from excluded.every then excluded.anchor else old.anchor end,
         (settled_to, counted_from, next_at) =
                                 (select case when same.timing then old.settled_to else greatest(old.settled_to, v_now) end,
                                         case when same.timing then old.counted_from else greatest(old.settled_to, v_now) end,
                                         case when same.timing then old.next_at end
                                    from (select old.withdrawn_at is null
                                             and (old.cron, old.every, old.tz) is not distinct from (excluded.cron, excluded.every, excluded.tz)) as same (timing))
   where p_replace
     and (old.withdrawn_at is not null
          or (old.task, old.payload, old.options, old.missed, old.overlap, old.cron, old.every, old.tz, old.declared)
             is distinct from
             (excluded.task, excluded.payload, excluded.options, excluded.missed, excluded.overlap, excluded.cron, excluded.every, excluded.tz, excluded.declared));
end $$;

--
-- Name: queue_at(uuid, integer, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.queue_at(p_job uuid, p_seq integer, p_queue text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
  select coalesce((select a.data ->> 'from'
                     from holdfast.activity a
                    where a.job_id = p_job and a.kind = 'job.moved' and substring(a.data ->> 'seq' from '^[0-9]{1,9}$')::int >= p_seq
                    order by a.id
                    limit 1), p_queue)
$_$;

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
    cleared boolean DEFAULT true NOT NULL,
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
-- Name: raise_alerts(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.raise_alerts(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz;
  v_opened uuid[];
begin
  if not exists (select from holdfast.alert_channel) and not exists (select from holdfast.alert_rule) then
    return;
  end if;
  update holdfast.notification n
     set state = 'failed'
   where n.job_id = any (p_ids) and n.state = 'waiting'
     and (select j.status in ('FAILED', 'CANCELLED') from holdfast.job j where j.id = n.job_id);
  if not exists (select from holdfast.alert_rule r where r.enabled and r.kind in ('job_failed', 'compensation_failed')) then
    return;
  end if;
  v_now := holdfast.clock();
  -- An open alert is left alone: updating it would let all failures of a task wait for each other.
  with failed as materialized (
    select j.id, j.task, j.queue, j.tenant, j.compensates
      from unnest(p_ids) as i (id)
      join holdfast.job j on j.id = any (array[i.id])
     where j.status = 'FAILED' and not holdfast.is_own_task(j.task)),
  causes as materialized (
    select r.name as rule, r.severity, w.about,
           case r.kind when 'job_failed' then format('%s of task %s FAILED', case count(*) when 1 then 'a job' else count(*) || ' jobs' end, min(f.task::text))
             else format('the compensation of job %s (task %s) FAILED: what it had done is not undone', min(f.compensates::text), min(f.task::text)) end as message,
           (array_agg(f.id::uuid order by f.id))[1] as job_id, count(*) as n
      from failed f
      join holdfast.alert_rule r on r.enabled and r.kind = case when f.compensates is null then 'job_failed' else 'compensation_failed' end
       and (r.task is null or r.task = f.task) and (r.queue is null or r.queue = f.queue) and (r.tenant is null or r.tenant = f.tenant)
      cross join lateral (select case r.kind when 'job_failed' then 'task:' || f.task else 'job:' || f.compensates end as about) as w
     group by r.name, r.kind, r.severity, w.about),
  opened as (
    insert into holdfast.alert (rule, about, severity, message, job_id, count, opened_at, last_seen_at)
    select c.rule, c.about, c.severity, c.message, c.job_id, c.n, v_now, v_now from causes c order by c.rule, c.about
    on conflict (rule, about) where closed_at is null do nothing
    returning id)
  select array_agg(o.id) into v_opened from opened o;
  perform holdfast.tell_of_alert(o.id, 'opened') from unnest(v_opened) as o (id);
end $$;

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
           where t.name = p_job.task and p_job.compensates is null) as r
   order by r.key, r.most
$$;

--
-- Name: read_channels(text[], text[], bigint[], integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit integer) RETURNS TABLE(channel integer, id bigint, kind text, job_id uuid, at timestamp with time zone, data jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select a.place::int, e.id, own.kind, own.job_id, own.at, own.data
    from unnest(p_channels, p_tenants, p_after) with ordinality as a (channel, tenant, after, place)
    cross join lateral (
      select f.id, f.kind, f.job_id, f.at, f.data,
             sum(octet_length(f.data::text)) over (order by f.id rows between unbounded preceding and 1 preceding) as bytes_before
        from (select f.id, f.kind, f.job_id, f.at, f.data
                from holdfast.feed f
               where f.channel = a.channel and f.id > a.after
               order by f.id
               limit least(p_limit, 1000)) as f) as e
    left join lateral (
      select e.kind, e.job_id, e.at, e.data
       where holdfast.may_touch(nullif(a.tenant, '*'))
         and (a.tenant = '*' or a.channel = 'tenant:' || a.tenant
              or exists (select from holdfast.job j where j.id = e.job_id and j.tenant = a.tenant))) as own on true
   where coalesce(e.bytes_before, 0) < 65536
   order by a.place, e.id
$$;

--
-- Name: read_feed(text, bigint, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.read_feed(p_channel text, p_after bigint DEFAULT 0, p_limit integer DEFAULT 1000) RETURNS TABLE(id bigint, kind text, job_id uuid, at timestamp with time zone, data jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select f.id, f.kind, f.job_id, f.at, f.data
    from holdfast.feed f
   where f.channel = p_channel and f.id > p_after
     -- Other channels have events of several tenants: a bound reader sees those of its own jobs.
     and (holdfast.may_touch(holdfast.channel_tenant(p_channel))
          or exists (select from holdfast.job j where j.id = f.job_id and j.tenant = holdfast.bound_tenant()))
   order by f.id
   limit least(p_limit, 10000)
$$;

--
-- Name: read_gate(holdfast.job, integer, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.read_gate(p_job holdfast.job, p_attempt integer, p_name text, p_gate jsonb) RETURNS holdfast.approval
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval;
  v_able int;
  v_problem text;
begin
  v_gate.id := holdfast.new_id();
  v_gate.job_id := p_job.id;
  v_gate.attempt := p_attempt;
  v_gate.name := p_name;
  v_gate.question := p_gate ->> 'question';
  v_gate.facts := coalesce(nullif(p_gate -> 'facts', 'null'), '{}');
  if jsonb_typeof(coalesce(p_gate -> 'approvers', '[]')) <> 'array' then
    v_problem := 'approvers are a list of names';
  else
    -- Sorted: the same people are the same gate, in whatever order a program names them.
    select coalesce(array_agg(distinct a order by a), '{}') into v_gate.approvers from jsonb_array_elements_text(p_gate -> 'approvers') as a;
  end if;
  v_gate.quorum := coalesce((p_gate ->> 'quorum')::int, 1);
  v_gate.requester := p_job.requested_by;
  v_gate.self_approval := coalesce((p_gate ->> 'self_approval')::boolean, false);
  v_gate.bulk := coalesce((p_gate ->> 'bulk')::boolean, false);
  v_gate.asked_at := holdfast.clock();
  v_gate.expires_at := v_gate.asked_at + make_interval(secs => (p_gate ->> 'expires_in')::float8);
  v_gate.on_expiry := coalesce(p_gate ->> 'on_expiry', 'fail');
  v_gate.wrong_tries := '{}';
  v_able := (select count(distinct holdfast.person(a)) from unnest(v_gate.approvers) as a
              where v_gate.self_approval or holdfast.person(a) is distinct from holdfast.person(v_gate.requester));
  v_problem := coalesce(v_problem, case
    when coalesce(length(v_gate.question), 0) not between 1 and 2000 then 'the question has 1 to 2,000 characters'
    when jsonb_typeof(v_gate.facts) <> 'object' then 'facts are an object'
    when octet_length(v_gate.facts::text) > 65536 then 'facts have at most 65,536 bytes: people are to read them'
    when exists (select from unnest(v_gate.approvers) as a where a is null or length(a) not between 1 and 200 or a <> btrim(a))
      then 'an approver''s name has 1 to 200 characters and no space around it'
    when 'system' = any (v_gate.approvers) then '"system" is the clock''s own name'
    when cardinality(v_gate.approvers) > 100 then 'at most 100 approvers are named'
    when v_gate.quorum not between 1 and 100 then 'the quorum is 1 to 100'
    when cardinality(v_gate.approvers) > 0 and v_able < v_gate.quorum
      then format('a quorum of %s can never be reached: %s of the approvers may decide (the requester may not, unless self_approval is set)', v_gate.quorum, v_able)
    when v_gate.expires_at <= v_gate.asked_at then 'it must not expire before it is asked'
    when v_gate.on_expiry not in ('fail', 'deny', 'approve') then 'on_expiry is fail, deny or approve'
  end);
  if v_problem is not null then
    raise exception 'approval % cannot be asked for: %', quote_literal(p_name), v_problem using errcode = 'HF005', hint = 'Nobody was asked.';
  end if;
  v_gate.bound_hash := holdfast.bound_hash(p_job.id, p_job.payload, v_gate.name, v_gate.question, v_gate.facts, v_gate.approvers, v_gate.quorum);
  return v_gate;
end $$;

--
-- Name: read_jobs(uuid[], integer[], bigint[], integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.read_jobs(p_jobs uuid[], p_seqs integer[], p_notes bigint[], p_limit integer) RETURNS TABLE(job integer, seq integer, note bigint, kind text, job_id uuid, at timestamp with time zone, data jsonb)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select a.place::int, m.seq, 0, holdfast.event_kind(m.to_status), a.job, m.at,
         jsonb_strip_nulls(jsonb_build_object(
           'task', j.task, 'status', m.to_status, 'from', m.from_status, 'attempt', m.attempt, 'seq', m.seq,
           'due_at', m.metadata -> 'due_at', 'error', holdfast.error_class(m.metadata),
           'fields', (select holdfast.listed_fields(t.options -> 'feed_fields', j.payload)
                        from holdfast.task t
                       where t.name = j.task and jsonb_typeof(t.options -> 'feed_fields') = 'array')))
    from unnest(p_jobs, p_seqs) with ordinality as a (job, seq, place)
    join holdfast.job j on j.id = a.job and holdfast.may_touch(j.tenant)
    cross join lateral (
      select h.seq, h.from_status, h.to_status, h.attempt, h.at, h.metadata
        from holdfast.job_history h
       where h.job_id = a.job and h.seq > a.seq
       order by h.seq
       limit p_limit) as m
  union all
  select a.place::int, 0, n.id, n.kind, a.job, n.at, jsonb_build_object('task', j.task) || coalesce(n.data, '{}')
    from unnest(p_jobs, p_notes) with ordinality as a (job, note, place)
    join holdfast.job j on j.id = a.job and holdfast.may_touch(j.tenant)
    cross join lateral (
      select v.id, v.kind, v.at, v.data
        from holdfast.activity v
       where v.job_id = a.job and v.id > a.note
       order by v.id
       limit p_limit) as n
   order by 1, 2, 3
$$;

--
-- Name: ready_since(timestamp with time zone, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.ready_since(p_claim_order timestamp with time zone, p_priority integer) RETURNS timestamp with time zone
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN (p_claim_order + ((p_priority)::double precision * '00:00:36'::interval));

--
-- Name: record_action(text, text, text, text, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.record_action(p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.require_own(p_tenant, 'the audit');
  insert into holdfast.audit (actor, address, action, target, tenant, reason, data)
  values (p_actor, p_address, p_action, p_target, p_tenant, p_reason, p_data)
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
  v_wrong uuid;
begin
  -- Here and not in a row trigger's condition, which PostgreSQL would prepare anew for every statement.
  select b.id into v_wrong
    from born b
   where b.status <> 'PENDING' or b.attempt <> 0 or b.seq <> 1 or b.retry_count <> 0 or b.crash_count <> 0 or b.suspect
      or coalesce(b.ready_at, b.started_at) is not null or b.claim_id is not null or b.came_from is not null
      or b.updated_at not between b.created_at and holdfast.clock()   -- two defaults read the clock twice
      or b.created_at not between holdfast.clock() - (clock_timestamp() - statement_timestamp()) and holdfast.clock()
   limit 1;
  if found then
    perform holdfast.count_refusal();
    raise exception 'job % must be born PENDING, unclaimed and with the clock''s own times', v_wrong
      using errcode = 'HF001', hint = 'Leave status, attempt, seq, counters and times to their defaults, or call holdfast.enqueue.';
  end if;
  perform holdfast.refuse_rule(r.id, r.status, r.rule)
     from (select b.id, b.status, holdfast.broken_rule(b.status, b.holder, b.claim_order, b.due_at, b.held_by, b.deadline_at, b.finished_at,
         b.approval_id, b.error, b.result, b.retry_count, b.max_retries, b.key, b.key_scope, b.key_held) as rule from born b) as r
    where r.rule is not null;
  insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, at, xid, actor, reason, metadata)
  select id, seq, null, status, attempt, updated_at, v_xid, holdfast.made_by(retry_of, requested_by), reason,
         holdfast.told_of_birth(retry_of, due_at, held_by)
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
     from (select m.id, m.status, coalesce(holdfast.broken_rule(m.status, m.holder, m.claim_order, m.due_at, m.held_by, m.deadline_at, m.finished_at,
         m.approval_id, m.error, m.result, m.retry_count, m.max_retries, m.key, m.key_scope, m.key_held),
         case when m.status = 'WAITING_FOR_APPROVAL' and coalesce(m.claim_order, m.due_at) is not null then holdfast.unapproved(m.approval_id) end) as rule
             from moved m) as r
    where r.rule is not null;
  insert into holdfast.job_history (job_id, seq, from_status, to_status, attempt, since, at, xid, actor, reason, metadata)
  select n.id, n.seq, n.came_from, n.status, n.attempt,
         holdfast.since_when(n.came_from, n.status, n.ready_at, n.started_at),
         n.updated_at, v_xid, v_actor, n.reason,
         holdfast.told_of_move(n.id, n.came_from, n.status, n.approval_id, n.error, n.retry_count, n.crash_count, n.due_at)
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
         holdfast.extras_of(j.label, j.requested_by, j.trace_parent, j.key, j.metadata, j.compensates)
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
  perform holdfast.count_refusal();
  raise exception '%', tg_argv[0] using errcode = 'HF003';
end $$;

--
-- Name: refuse_quota(bigint, uuid, text, text, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.refuse_quota(p_position bigint, p_id uuid, p_tenant text, p_task text, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_quota holdfast.quota;
begin
  if exists (select from holdfast.job j where j.id = p_id) then
    return true;   -- the answer to it was lost, and the quota reached since: the repeat learns that its job is there
  end if;
  select * into strict v_quota
    from holdfast.quota q
   where q.tenant = p_tenant and q.reached_until > p_now and (q.task is null or q.task = p_task)
   order by q.reached_until desc
   limit 1;
  raise exception 'job %: tenant % has reached its quota of % % a %', p_position, quote_literal(p_tenant), v_quota.hard, v_quota.measure, v_quota.period
    using errcode = 'HF013', detail = p_tenant,
          hint = format('Nothing was enqueued. Try again after %s, or raise the quota: holdfast quota set.', v_quota.reached_until at time zone 'UTC' || ' UTC');
end $$;

--
-- Name: refuse_rule(uuid, holdfast.job_status, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.count_refusal();
  raise exception 'job % cannot be % like this: %', p_job, p_status, p_rule using errcode = 'HF001';
end $$;

--
-- Name: refuse_stranger(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.refuse_stranger(p_name text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  raise exception 'nobody is called %', quote_literal(p_name) using errcode = 'HF073', hint = 'holdfast user list shows everybody.';
end $$;

--
-- Name: register_alerts(text, jsonb, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.register_alerts(p_app text, p_channels jsonb, p_rules jsonb) RETURNS TABLE(taken text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
begin
  -- Most apps have neither, and write nothing.
  if p_channels = '[]' and p_rules = '[]'
     and not exists (select from holdfast.alert_channel c where c.app = p_app) and not exists (select from holdfast.alert_rule r where r.app = p_app) then
    return;
  end if;
  perform from holdfast.alert_watch w for update;   -- one at a time: workers start together
  return query
  select c.name::text from holdfast.alert_channel c join jsonb_to_recordset(p_channels) as d (name text) on d.name = c.name where c.app <> p_app
  union
  select r.name::text from holdfast.alert_rule r join jsonb_to_recordset(p_rules) as d (name text) on d.name = r.name where r.app <> p_app;
  delete from holdfast.alert_channel c where c.app = p_app and not exists (select from jsonb_to_recordset(p_channels) as d (name text) where d.name = c.name);
  delete from holdfast.alert_rule r where r.app = p_app and not exists (select from jsonb_to_recordset(p_rules) as d (name text) where d.name = r.name);
  insert into holdfast.alert_channel (name, kind, app, registered_at)
  select d.name, d.kind, p_app, v_now from jsonb_to_recordset(p_channels) as d (name text, kind text)
  on conflict (name) do update set kind = excluded.kind, app = excluded.app, registered_at = excluded.registered_at;
  insert into holdfast.alert_rule (name, kind, task, queue, tenant, threshold, period, least, severity, channels, app, registered_at)
  select d.name, d.kind, d.task, d.queue, d.tenant, d.threshold, make_interval(secs => d.period), coalesce(d.least, 1), d.severity,
         array(select jsonb_array_elements_text(d.channels)), p_app, v_now
    from jsonb_to_recordset(p_rules) as d (name text, kind text, task text, queue text, tenant text, threshold float8, period float8, least bigint,
         severity text, channels jsonb)
  on conflict (name) do update
     set kind = excluded.kind, task = excluded.task, queue = excluded.queue, tenant = excluded.tenant, threshold = excluded.threshold,
         period = excluded.period, least = excluded.least, severity = excluded.severity, channels = excluded.channels, app = excluded.app,
         registered_at = excluded.registered_at;
end $$;

--
-- Name: register_schedules(uuid, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.register_schedules(p_worker uuid, p_definitions jsonb) RETURNS TABLE(taken text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_definition jsonb;
  v_names text[] := '{}';
begin
  for v_definition in select d from jsonb_array_elements(p_definitions) as d order by d ->> 'name' loop
    if exists (select from holdfast.schedule s where s.name = v_definition ->> 'name' and not s.declared) then
      taken := v_definition ->> 'name';
      return next;
    else
      perform holdfast.put_schedule(v_definition, true, true);
      v_names := v_names || (v_definition ->> 'name');
    end if;
  end loop;
  update holdfast.worker w set schedules = v_names where w.id = p_worker and w.schedules is distinct from v_names;
end $$;

--
-- Name: register_tasks(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.register_tasks(p_tasks jsonb) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_flags jsonb := (select jsonb_object_agg(t.name, t.options) from holdfast.task t where t.options ? 'flag');
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
  perform holdfast.leave_flags(array(select t.name::text from holdfast.task t
                                      where (v_flags -> t.name -> 'flag', v_flags -> t.name -> 'rollout_by')
                                            is distinct from (t.options -> 'flag', t.options -> 'rollout_by') and v_flags ? t.name));
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
-- Name: release_after_run(holdfast.dispatch); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.release_after_run(p_run holdfast.dispatch) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  update holdfast.dispatch d set ended_at = coalesce(d.ended_at, holdfast.clock()) where d.id = p_run.id;
  perform holdfast.let_go(array_agg(j.id::uuid))
     from holdfast.job j
    where j.compensates = p_run.job_id and j.held_by = 'run:' || p_run.id;
end $$;

--
-- Name: release_compensations(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.release_compensations(p_limit integer) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
declare
  v_ids uuid[];
begin
  select array_agg(h.id) into v_ids
    from (select j.id::uuid
            from holdfast.job j
           where j.compensates is not null and j.finished_at is null and j.held_by is not null and j.status = 'PENDING'
             and j.held_by ~ '^(worker|run):'   -- a pause is not ours to end
             and (j.due_at <= holdfast.clock()
                  or exists (select from holdfast.worker w where j.held_by = 'worker:' || w.id and w.died_at is not null))
           order by j.compensates, j.id   -- the order of the index that holds only these
           limit p_limit) as h;
  perform holdfast.let_go(v_ids);
  return coalesce(cardinality(v_ids), 0);
end $$;

--
-- Name: release_retries(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.release_retries(p_ids uuid[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
  select holdfast.let_go(array_agg(r.id::uuid))
    from holdfast.job c
    join holdfast.job r on r.retry_of = any (array[c.compensates])
   where c.id = any (p_ids) and c.status in ('COMPLETED', 'CANCELLED') and c.compensates is not null
     and r.status = 'PENDING' and r.held_by like 'compensation %'
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
    SET jit TO 'off'
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
-- Name: remove_approvals(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.remove_approvals(p_ids uuid[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  delete from holdfast.approval_decision d
   where d.approval_id in (select a.id from holdfast.approval a where a.job_id = any (p_ids));
  delete from holdfast.approver r
   where r.approval_id in (select a.id from holdfast.approval a where a.job_id = any (p_ids));
  delete from holdfast.approval a where a.job_id = any (p_ids);
$$;

--
-- Name: remove_jobs(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.remove_jobs(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  delete from holdfast.dispatch d where d.job_id = any (p_ids);
  delete from holdfast.callback_nonce n where n.job_id = any (p_ids);
  delete from holdfast.attempt a where a.job_id = any (p_ids);
  delete from holdfast.log_part l where l.job_id = any (p_ids);
  delete from holdfast.step s where s.job_id = any (p_ids);
  delete from holdfast.checkpoint c where c.job_id = any (p_ids);
  delete from holdfast.progress p where p.job_id = any (p_ids);
  delete from holdfast.activity a where a.job_id = any (p_ids);
  delete from holdfast.wait w where w.job_id = any (p_ids);
  delete from holdfast.dependency d where d.job_id = any (p_ids) or d.needs = any (p_ids);
  delete from holdfast.job_history h where h.job_id = any (p_ids);
  perform holdfast.remove_approvals(p_ids);
  delete from holdfast.job j where j.id = any (p_ids);
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
-- Name: reprioritise(uuid, integer, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.reprioritise(p_id uuid, p_priority integer, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.lock_job(p_id);
begin
  perform holdfast.check_priority(p_priority);
  perform holdfast.require_changeable('reprioritise', v_job);
  perform holdfast.put_at(v_job, p_priority, p_actor, p_reason);
end $$;

--
-- Name: require_bounds(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.require_bounds(p_tenant text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if p_tenant in ('', '*') then
    raise exception '% is no tenant that somebody can be bound to', quote_literal(p_tenant) using errcode = 'HF005';
  end if;
  if p_tenant is not null and not holdfast.has_roles() then
    raise exception 'this database has a single role, and cannot keep tenants apart: nobody can be bound to one'
      using errcode = 'HF016', hint = 'Migrate it once by a login that may create roles.';
  end if;
end $$;

--
-- Name: require_changeable(text, holdfast.job); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.require_changeable(p_action text, p_job holdfast.job) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_problem text := holdfast.why_unchanged(p_action, p_job);
begin
  if v_problem is not null then
    raise exception 'job % cannot be %: %', p_job.id,
        case p_action when 'move' then 'moved' when 'delete' then 'deleted' else 'given another priority' end, v_problem
      using errcode = 'HF001';
  end if;
end $$;

--
-- Name: require_own(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.require_own(p_tenant text, p_what text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if not holdfast.may_touch(p_tenant) then
    raise exception '% is not for the tenant that the caller is bound to', p_what using errcode = 'HF015';
  end if;
end $$;

--
-- Name: require_unbound(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.require_unbound(p_what text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  if holdfast.bound_tenant() is not null then
    raise exception '% belongs to no tenant: who is bound to one cannot change it', p_what using errcode = 'HF015';
  end if;
end $$;

--
-- Name: results_of(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.results_of(p_job uuid) RETURNS TABLE(id uuid, status holdfast.job_status, result text, error text)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select j.id, j.status, j.result::text, j.error::text
    from holdfast.dependency d
    join holdfast.job j on j.id = any (array[d.needs])
   where d.job_id = p_job and d.position > 0
   order by d.position
$$;

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
  perform holdfast.require_unbound(format('queue %L', p_queue));
  select q.paused_at is not null into v_was_paused from holdfast.queue q where q.name = p_queue for update;
  update holdfast.queue q
     set paused_at = null, paused_by = null, reason = null, resume_at = null
   where q.name = p_queue;
  perform holdfast.wake(array[p_queue]);
  return coalesce(v_was_paused, false);
end $$;

--
-- Name: resume_schedule(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.resume_schedule(p_name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_was_paused boolean := (holdfast.find_schedule(p_name)).paused_at is not null;
begin
  update holdfast.schedule s
     set paused_at = null, paused_by = null, reason = null, settled_to = greatest(s.settled_to, v_now),
         counted_from = greatest(s.settled_to, v_now), next_at = null, updated_at = v_now
   where s.name = p_name and v_was_paused;
  return v_was_paused;
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
  perform holdfast.require_unbound(format('task %L', p_task));
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
    SET jit TO 'off'
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
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_old holdfast.job := holdfast.lock_job(p_id);
  v_task holdfast.task;
  v_now timestamptz := holdfast.clock();
  v_new uuid := coalesce(p_new_id, holdfast.new_id());
  v_other uuid;
  v_count bigint;
  v_undo holdfast.job;
  v_hold text;
  v_gated boolean := v_old.compensates is null and holdfast.is_gated(v_old.task, v_old.queue);
begin
  select j.id into v_other from holdfast.job j where j.retry_of = p_id;
  if found then
    if v_other = p_new_id then
      return v_other;   -- the answer to the first call was lost
    end if;
    raise exception 'job % was already retried as %', p_id, v_other using errcode = 'HF008', hint = 'If that one failed too, retry it instead.';
  end if;
  -- What its failure left behind is undone first: the new job waits, or is refused when nobody is at it any more.
  -- Of compensations the one that nobody has retried: ids come from more than one clock, and a retry's may be the smaller.
  select * into v_undo
    from holdfast.job j
   where j.compensates = p_id and not exists (select from holdfast.job r where r.retry_of = j.id)
   order by j.id desc
   limit 1
     for no key update;
  if v_undo.status = 'FAILED' then
    raise exception 'job % cannot be retried: its compensation % failed', p_id, v_undo.id
      using errcode = 'HF008', detail = v_undo.id::text, hint = 'Retry the compensation first.';
  end if;
  if v_old.status <> 'FAILED' then
    raise exception 'job % is %; only a FAILED job can be retried', p_id, v_old.status using errcode = 'HF008';
  end if;

  select * into v_task from holdfast.task t where t.name = v_old.task;
  if not found then
    raise exception 'job % cannot be retried: task % is not registered any more', p_id, quote_literal(v_old.task) using errcode = 'HF008';
  end if;
  -- What undoes a job may be retried too, and counts for itself: a clean-up must not use up, nor wait for, what people may retry.
  if v_task.manual_retries_per = 'subject' and v_old.subject is not null and v_old.compensates is null then
    -- Two retries of one subject's jobs at once must not both see the last place under the cap.
    perform pg_advisory_xact_lock(hashtextextended('holdfast:retry:' || coalesce(v_old.tenant, '') || ':' || v_old.subject, 0));
    select count(*) into v_count
      from holdfast.job j
     where j.subject = v_old.subject and j.tenant is not distinct from v_old.tenant and j.retry_of is not null and j.compensates is null;
  else
    with recursive chain as (
      select v_old.retry_of as id where v_old.retry_of is not null
      union all
      select o.retry_of
        from chain
        cross join lateral (select j.retry_of from holdfast.job j where j.id = chain.id limit 1) as o
       where o.retry_of is not null)
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
  if v_undo.finished_at is null then
    v_hold := 'compensation ' || v_undo.id;
  end if;
  begin
    insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, ties, compensates, retry_of, priority, max_retries, key_held,
           task, queue, tenant, subject, key, key_scope, reason, label, requested_by, trace_parent, timeout, tags, metadata, payload)
    values (v_new, v_now, v_now, case when v_hold is null and not v_gated then holdfast.place_in_line(v_now, v_old.priority) end,
            case when v_hold is null and v_gated then v_now end, v_hold,
            v_gated::int | case when v_old.compensates is not null then 2 else 0 end, v_old.compensates, p_id, v_old.priority, v_old.max_retries, v_old.key is not null, v_old.task,
            v_old.queue, v_old.tenant, v_old.subject, v_old.key, v_old.key_scope, coalesce(p_reason, 'retried by hand'), v_old.label,
            coalesce(p_actor, v_old.requested_by), v_old.trace_parent, v_old.timeout, v_old.tags, v_old.metadata, v_old.payload);
  exception when unique_violation then
    raise exception 'job % cannot be retried: another job took its key at this moment', p_id
      using errcode = 'HF008', hint = 'See what became of that one.';
  end;
  -- What the old one ran after has ended; the new one wants its results too.
  insert into holdfast.dependency (needs, job_id, position, policy)
  select d.needs, v_new, d.position, d.policy from holdfast.dependency d where d.job_id = p_id and d.position > 0;
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
           not w.runs_on and not exists (select from holdfast.job beside where beside.holder = w.id and not beside.suspect) as alone
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
                          'message', format('its worker died %s times while it ran this job alone: the logs of those workers say what ended them; run it again once that is fixed', j.crash_count + 1)) else j.error end,
           reason = case when g.said_goodbye then 'released: worker ' || g.worker || ' stopped' else 'worker ' || g.worker || ' died' end
      from judged g
     where j.id = any (array[g.id::uuid])
       -- Again: it may have finished, or been taken by another, while we waited for the lock.
       and j.status = 'RUNNING' and j.claim_id = g.claim_id
    returning j.id, j.attempt, j.status, j.queue, g.worker, g.charged, g.said_goodbye),
  kept as (
    insert into holdfast.attempt (job_id, attempt, worker, outcome, error)
    select b.id, b.attempt, b.worker, 'crashed', jsonb_build_object('type', 'WorkerDied', 'kind', 'crash', 'recoverable', true,
             'message', format('worker %s died while it ran %s', b.worker, case when b.charged then 'this job apart from all others, so the job is the likely cause'
                                                               else 'this job, and perhaps others; any of them may be the cause, so each runs again apart from the others' end))
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
-- Name: revoke_key(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.revoke_key(p_id text, p_bound text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_old holdfast.api_key := holdfast.lock_key(p_id, p_bound);
begin
  update holdfast.api_key k set revoked_at = holdfast.clock() where k.id = p_id and k.revoked_at is null;
  return holdfast.key_counts(v_old);
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
-- Name: rotate_key(text, text, text, bytea, interval, timestamp with time zone, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.rotate_key(p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamp with time zone, p_actor text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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

--
-- Name: run_chunk(uuid, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.run_chunk(p_operation uuid, p_nth integer, OUT done integer, OUT skipped integer) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_operation holdfast.operation;
  v_chunk holdfast.operation_chunk;
  v_jobs uuid[];
  v_refusals jsonb;
begin
  select * into v_operation from holdfast.operation o where o.id = p_operation;
  select * into v_chunk from holdfast.operation_chunk c where c.operation_id = p_operation and c.nth = p_nth for update;
  if not found then
    raise exception 'operation % has no chunk %', p_operation, p_nth using errcode = 'HF005';
  end if;
  if v_chunk.finished_at is null then
    perform holdfast.lock_jobs(v_chunk.jobs, v_operation.tenant,
      case when v_operation.action = 'cancel' then array(select m from holdfast.moved_with(v_chunk.jobs, v_operation.tenant) as m) end);
    v_jobs := case v_operation.action when 'retry' then holdfast.in_order_of_keys(v_chunk.jobs) else array(select s.job from unnest(v_chunk.jobs) as s (job) order by s.job) end;
    select coalesce(jsonb_agg(jsonb_build_object('job', t.job, 'why', t.why)) filter (where t.why is not null), '[]')
      into v_refusals
      from (select u.job, holdfast.operate(v_operation, u.job) as why
              from (select s.job from unnest(v_jobs) with ordinality as s (job, nth) order by s.nth) as u) as t;
    update holdfast.operation_chunk c
       set finished_at = holdfast.clock(), skipped = jsonb_array_length(v_refusals), refusals = v_refusals,
           done = cardinality(c.jobs) - jsonb_array_length(v_refusals)
     where c.operation_id = p_operation and c.nth = p_nth
    returning * into v_chunk;
  end if;
  done := v_chunk.done;
  skipped := v_chunk.skipped;
end $$;

--
-- Name: run_fault(holdfast.dispatch); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.run_fault(p_run holdfast.dispatch) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select case
      when l.silent_at < l.now and l.silent_at <= l.late_at then
        jsonb_build_object('type', 'HeartbeatTimeout', 'kind', 'heartbeat', 'recoverable', true,
          'message', format('Timeout: no heartbeat for %s s', trim_scale(extract(epoch from p_run.heartbeat_limit))))
      when l.late_at < l.now then
        jsonb_build_object('type', 'RunTimeout', 'kind', 'timeout', 'recoverable', true,
          'message', format('Timeout: the run took longer than %s s', trim_scale(extract(epoch from p_run.run_limit))))
    end
    from (select holdfast.clock() as now, greatest(p_run.seen_at, p_run.sent_at) + p_run.heartbeat_limit as silent_at,
                 coalesce(p_run.started_at, p_run.sent_at) + p_run.run_limit as late_at) as l
   where p_run.state = 'sent'
$$;

--
-- Name: run_schedule(text, text, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.run_schedule(p_name text, p_actor text DEFAULT NULL::text, p_id uuid DEFAULT NULL::uuid) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_by text := coalesce(p_actor, session_user);
  v_id uuid := coalesce(p_id, holdfast.new_id());
  v_schedule holdfast.schedule;
  v_slot timestamptz := v_now;
  v_created boolean;
begin
  v_schedule := holdfast.find_schedule(p_name);
  if exists (select from holdfast.job j where j.id = p_id) then
    return p_id;
  end if;
  -- Never a whole second, which may be a time of the schedule's own.
  while v_slot = date_trunc('second', v_slot) or exists (select from holdfast.schedule_run r where r.schedule = p_name and r.slot = v_slot) loop
    v_slot := v_slot + interval '1 microsecond';
  end loop;
  select e.job_id, e.created into v_id, v_created
    from holdfast.enqueue_many(jsonb_build_array(holdfast.job_of_schedule(v_schedule, v_id, v_slot, v_by) || jsonb_build_object('requested_by', v_by))) as e;
  insert into holdfast.schedule_run (schedule, slot, last_slot, outcome, at, job_id, actor)
  values (p_name, v_slot, v_slot, case when v_created then 'manual' else 'duplicate' end, v_now, v_id, v_by);
  return v_id;
end $$;

--
-- Name: running_in(pg_snapshot); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.running_in(p_snapshot pg_snapshot) RETURNS bigint[]
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select coalesce(array_agg(x::text::bigint), '{}') from pg_snapshot_xip(p_snapshot) as x
$$;

--
-- Name: running_on(uuid, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.running_on(p_job uuid, p_holder uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'worker:' || p_holder where p_job::text = any (string_to_array(current_setting('holdfast.running_on', true), ','))
$$;

--
-- Name: said(holdfast.job_status, timestamp with time zone, bigint, text, text, jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.said(p_to holdfast.job_status, p_at timestamp with time zone, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb) RETURNS bytea
    LANGUAGE sql STABLE PARALLEL SAFE
    RETURN ((((timestamptz_send(p_at) || int8send(p_xid)) || int4send(length(p_actor))) || int4send(COALESCE(length(p_reason), '-1'::integer))) || convert_to((((((p_to)::text || ' '::text) || p_actor) || COALESCE(p_reason, ''::text)) || COALESCE((p_metadata)::text, ''::text)), 'UTF8'::name));

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
-- Name: save_logs(uuid, uuid[], integer[], uuid[], integer[], text[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.save_logs(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_firsts integer[], p_lines text[]) RETURNS TABLE(id uuid, claim_id uuid, kept integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_name text := holdfast.holder_name(p_worker);
begin
  insert into holdfast.log_part (job_id, attempt, first, worker, lines)
  select o.id, o.attempt, k.kept, v_name, n.lines
    from (select * from unnest(p_ids, p_attempts, p_claim_ids, p_firsts, p_lines) as u (id, attempt, claim_id, first, lines) order by u.id) as o
    join holdfast.job j on j.id = any (array[o.id])
    cross join lateral (select holdfast.lines_kept(o.id, o.attempt) as kept) as k
    cross join lateral (
      select jsonb_agg(e.line order by e.place) as lines
        from jsonb_array_elements(o.lines::jsonb) with ordinality as e (line, place)
       where o.first + e.place > k.kept) as n
   where j.status = 'RUNNING' and j.attempt = o.attempt and j.claim_id = o.claim_id and j.holder is not distinct from p_worker
     and o.first <= k.kept and n.lines is not null
  on conflict do nothing;
  -- A statement of its own: a call whose answer was lost may have committed while this one waited for it.
  return query
    select o.id, o.claim_id, holdfast.lines_kept(o.id, o.attempt)
      from unnest(p_ids, p_attempts, p_claim_ids) as o (id, attempt, claim_id);
end $$;

--
-- Name: save_step(uuid, integer, uuid, text, text, text, jsonb, boolean, integer, double precision, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision, p_importance text DEFAULT NULL::text) RETURNS void
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
  insert into holdfast.step (job_id, name, kind, after, attempt, tries, undoable, started_at, finished_at, value, importance)
  values (p_job, p_name, p_kind, p_after, p_attempt, p_tries, p_undoable, v_now - make_interval(secs => greatest(p_took, 0)), v_now, p_value,
          p_importance)
  on conflict do nothing;
end $$;

--
-- Name: save_view(text, text, text, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.save_view(p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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
-- Name: session; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.session (
    digest bytea NOT NULL,
    person text NOT NULL,
    begun_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    seen_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    address text,
    CONSTRAINT session_digest_is_sha256 CHECK ((octet_length(digest) = 32))
);

--
-- Name: session_counts(holdfast.session); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.session_counts(p_session holdfast.session) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select p_session.seen_at > holdfast.clock() - interval '30 minutes' and p_session.begun_at > holdfast.clock() - interval '12 hours'
$$;

--
-- Name: set_flag(text, boolean, integer, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer DEFAULT NULL::integer, p_actor text DEFAULT NULL::text, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound(format('flag %L', p_flag));
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
-- Name: set_password(text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_password(p_name text, p_password text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound('a person');
  update holdfast.person p set password = p_password where p.name = p_name;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
  delete from holdfast.session s where s.person = p_name;
  delete from holdfast.device d where d.person = p_name;
end $$;

--
-- Name: set_quota(text, text, text, text, numeric, numeric); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_quota(p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound('a quota');
  if p_soft is null and p_hard is null then
    delete from holdfast.quota q
     where (q.tenant, q.period, q.measure) = (p_tenant, p_period, p_measure) and q.task is not distinct from p_task;
    return;
  end if;
  insert into holdfast.quota as q (tenant, task, period, measure, soft, hard)
  values (p_tenant, p_task, p_period, p_measure, p_soft, p_hard)
  on conflict (tenant, task, period, measure) do update
     set soft = excluded.soft, hard = excluded.hard, reached_until = null,
         told_until = case when excluded.soft is not distinct from q.soft then q.told_until end;
  perform holdfast.judge_quotas(array[p_tenant]);
end $$;

--
-- Name: set_role(text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_role(p_name text, p_role text, p_tenant text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound('a person');
  perform holdfast.require_bounds(p_tenant);
  update holdfast.person p set role = p_role, tenant = p_tenant where p.name = p_name;
  if not found then
    perform holdfast.refuse_stranger(p_name);
  end if;
end $$;

--
-- Name: set_tenant_weight(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.set_tenant_weight(p_tenant text, p_weight integer) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.require_unbound('a tenant''s weight');
  if p_tenant is null or p_tenant = '' or length(p_tenant) > 200 then
    raise exception 'a tenant has 1 to 200 characters' using errcode = 'HF005';
  end if;
  if p_weight is null or p_weight not between 1 and 1000 then
    raise exception 'the weight of tenant % must be 1 to 1000, not %', p_tenant, coalesce(p_weight::text, 'null') using errcode = 'HF005';
  end if;
  if p_weight = 1 then
    delete from holdfast.tenant t where t.name = p_tenant;
  else
    insert into holdfast.tenant as t (name, weight) values (p_tenant, p_weight)
    on conflict (name) do update set weight = excluded.weight, set_at = excluded.set_at;
  end if;
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
    SET jit TO 'off'
    SET lock_timeout TO '2s'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
  v_name text;
  v_moved uuid[];
begin
  select w.name into v_name from holdfast.worker w where w.id = p_worker;
  v_name := coalesce(v_name, p_worker::text);
  perform set_config('holdfast.actor', v_name, true);
  perform set_config('holdfast.running_on', coalesce(string_agg(o ->> 'id', ','), ''), true)
     from jsonb_array_elements(p_settlements) as o
    where (o ->> 'runs_on')::boolean;
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
    returning j.id, j.queue, j.due_at),
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
  select array_agg(d.id) into v_moved from moved d left join woken w on true;
  perform holdfast.forget_log_parts(array_agg(o.id), array_agg(o.attempt))
     from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, logs jsonb)
    where o.logs is not null
   having count(*) > 0;
  -- A statement of its own: whoever waited for a lock above must see what it waited for.
  return query
  select o.id, j.status,
         o.id = any (coalesce(v_moved, '{}'))
         -- The same attempt has written the same before, and the answer was lost: a success, as for complete.
         or exists (select from holdfast.job_history h
                     where h.job_id = o.id and h.attempt = o.attempt and h.from_status = 'RUNNING' and h.actor = v_name
                       and h.reason is not distinct from o.reason
                       and h.to_status = any (case o.outcome when 'cancelled' then '{CANCELLED}' when 'released' then '{RETRY}'
                                              else '{RETRY,FAILED}' end::holdfast.job_status[]))
    from jsonb_to_recordset(p_settlements) as o (id uuid, attempt int, outcome text, reason text)
    left join holdfast.job j on j.id = any (array[o.id]);
end $$;

--
-- Name: settle_conflict(uuid, jsonb, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.settle_conflict(p_id uuid, p_wanted jsonb, p_now timestamp with time zone, OUT job_id uuid, OUT created boolean) RETURNS record
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
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
      raise exception 'job id % is taken by another job%', p_id, case when holdfast.may_touch(v_old.tenant) then format(' (task %s)', v_old.task) else '' end
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
      from holdfast.enqueue_many(jsonb_build_array(p_wanted - 'after' || jsonb_build_object('id', p_id, 'on_conflict', 'return'))) as e;
    if job_id = p_id then
      -- What it is to run after may itself not be born yet, or another stands for it: the whole call is tied together at its end.
      update holdfast.job j
         set claim_order = null, due_at = null, held_by = 'jobs'
       where j.id = p_id and created and p_wanted @? '$.after[*]';
      return;
    end if;
  end loop;
  raise exception 'key % kept changing hands; try again', quote_literal(v_key) using errcode = '40001';
end $_$;

--
-- Name: settle_expiry(holdfast.approval); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.settle_expiry(p_gate holdfast.approval) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_reason text := format('nobody decided before %s', to_char(p_gate.expires_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'));
begin
  if p_gate.on_expiry in ('deny', 'approve') then
    insert into holdfast.approval_decision (approval_id, who, decision, reason, how, at, bound_hash)
    values (p_gate.id, 'system', p_gate.on_expiry, v_reason, 'system', holdfast.clock(), p_gate.bound_hash);
  end if;
  case p_gate.on_expiry
    when 'approve' then
      perform holdfast.conclude(p_gate, 'approved', 'system', null, v_reason, null);
    when 'deny' then
      perform holdfast.conclude(p_gate, 'denied', 'system', null, v_reason,
                holdfast.approval_error('ApprovalDenied', format('approval %s was denied by system: %s', p_gate.name, v_reason)));
    else
      perform holdfast.conclude(p_gate, 'expired', 'system', null, v_reason,
                holdfast.approval_error('ApprovalExpired', format('approval %s expired: %s', p_gate.name, v_reason)));
  end case;
end $$;

--
-- Name: share_out(text[], boolean, integer, integer, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.share_out(p_tenants text[], p_is_whole boolean, p_limit integer, p_least integer, p_tenant text, p_used integer, OUT shares integer[], OUT tenant text, OUT used integer) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$
begin
  with weighed as (
    select r.name, r.place, coalesce(t.weight, 1) as weight, case when r.name = p_tenant then least(p_used, coalesce(t.weight, 1)) else 0 end as had
      from unnest(p_tenants) with ordinality as r (name, place)
      left join holdfast.tenant t on t.name = r.name),
  lap as (
    select w.name, w.place, w.weight, w.had, p_limit / sum(w.weight) over () as laps, p_limit % sum(w.weight) over () as rest,
           sum(w.weight - w.had) over (order by w.place) - (w.weight - w.had) as before, sum(w.weight - w.had) over () as all_but_had
      from weighed w),
  -- What whole laps leave over goes by turns again: first the rest of the turn that was begun, and its beginning last.
  part as (
    select l.*, greatest(least(l.rest - l.before, l.weight - l.had), 0) as now, greatest(least(l.rest - l.all_but_had, l.had), 0) as again
      from lap l),
  shared as (
    select p.name, p.place, p.again > 0 as is_last, greatest(p.laps * p.weight + p.now + p.again, p_least)::int as share,
           case when p.again > 0 then p.again when p.now > 0 then p.had + p.now when p.laps > 0 and not p_is_whole then p.weight end::int as used
      from part p)
  select array_agg(s.share order by s.place),
         (array_agg(s.name order by s.is_last desc, s.place desc) filter (where s.used is not null))[1],
         (array_agg(s.used order by s.is_last desc, s.place desc) filter (where s.used is not null))[1]
    into shares, tenant, used
    from shared s;
  if tenant is null then   -- whole laps end where they began
    tenant := p_tenant;
    used := p_used;
  end if;
end $$;

--
-- Name: silent_runs(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.silent_runs(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'job:' || d.job_id,
         format('job %s (task %s), which executor %s runs, has not been heard of for longer than %s', d.job_id, j.task, d.executor, holdfast.in_words(p_rule.period)),
         d.job_id, 1::bigint, p_now
    from (select d.job_id, d.executor, coalesce(d.seen_at, d.sent_at, d.created_at) as heard_at
            from holdfast.dispatch d where d.state = 'sent' order by d.job_id limit 1000) as d
    join holdfast.job j on j.id = any (array[d.job_id])
   where d.heard_at < p_now - p_rule.period and j.status = 'RUNNING'
     and (p_rule.task is null or j.task = p_rule.task) and (p_rule.queue is null or j.queue = p_rule.queue) and (p_rule.tenant is null or j.tenant = p_rule.tenant)
$$;

--
-- Name: since_when(holdfast.job_status, holdfast.job_status, timestamp with time zone, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.since_when(p_from holdfast.job_status, p_to holdfast.job_status, p_ready_at timestamp with time zone, p_started_at timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN CASE WHEN (p_to = 'RUNNING'::holdfast.job_status) THEN p_ready_at WHEN (p_from = 'RUNNING'::holdfast.job_status) THEN p_started_at ELSE NULL::timestamp with time zone END;

--
-- Name: sleep_until(uuid, integer, uuid, text, text, double precision, timestamp with time zone, jsonb, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.sleep_until(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_seconds double precision, p_until timestamp with time zone, p_logs jsonb, p_importance text DEFAULT NULL::text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  v_now timestamptz := holdfast.clock();
  v_until timestamptz := coalesce(p_until, v_now + make_interval(secs => p_seconds));
begin
  if exists (select from holdfast.step s where s.job_id = p_job and s.name = p_name) then
    return false;   -- the answer to the first call was lost: it still runs, so the time had come
  end if;
  -- Saved at once: whoever claims the job afterwards does so because the time has come.
  insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
  values (p_job, p_name, 'sleep', p_after, p_attempt, v_now, greatest(v_now, v_until), to_jsonb(v_until), p_importance);
  if v_until <= v_now then
    return false;
  end if;
  delete from holdfast.wait w where w.job_id = p_job;   -- of an older release: its event would end the sleep
  perform holdfast.put_aside(v_job, v_until, null, 'sleeps until ' || holdfast.moment(v_until), p_logs);
  return true;
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
-- Name: still_held(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.still_held(p_holder uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'worker:' || w.id
    from holdfast.worker w
   where w.id = p_holder and w.died_at is null and w.name <> holdfast.actor()   -- who says himself that it failed has stopped
  union all
  select 'run:' || d.id
    from holdfast.dispatch d
   where d.id = p_holder and d.cancel_wanted_at is not null and d.ended_at is null   -- an outside run that was told to stop
$$;

--
-- Name: stop_runs(uuid[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.stop_runs(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.end_dispatch(d.id, d.state <> 'planned' or d.doubtful)
     from holdfast.dispatch d
    where d.job_id = any (p_ids) and d.state <> 'over'
      and (select j.status in ('FAILED', 'CANCELLED') from holdfast.job j where j.id = d.job_id);
end $$;

--
-- Name: sweep(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.sweep(p_limit integer DEFAULT 1000, OUT died bigint, OUT returned bigint, OUT overdue bigint, OUT expired bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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
  overdue := holdfast.end_overdue(p_limit) + holdfast.check_runs(p_limit);
  perform holdfast.release_compensations(p_limit);
  perform holdfast.clear_line(p_limit);
  perform holdfast.heal(p_limit);
  expired := holdfast.expire_approvals(p_limit);
end $$;

--
-- Name: take_away(holdfast.job, text, text, text, uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.take_away(p_job holdfast.job, p_actor text, p_address text, p_reason text, p_operation uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  insert into holdfast.audit (actor, address, action, target, tenant, reason, data)
  values (coalesce(p_actor, holdfast.actor()), p_address, 'job.delete', p_job.id::text, p_job.tenant, p_reason, jsonb_strip_nulls(jsonb_build_object(
            'task', p_job.task, 'queue', p_job.queue, 'status', p_job.status, 'attempt', p_job.attempt, 'created_at', p_job.created_at,
            'finished_at', p_job.finished_at, 'operation', p_operation)));
  perform set_config('holdfast.retention', pg_current_xact_id()::text, true);
  perform holdfast.remove_jobs(array[p_job.id::uuid]);
  perform set_config('holdfast.retention', '', true);
end $$;

--
-- Name: take_dispatches(uuid, text[], integer, double precision); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.take_dispatches(p_worker uuid, p_executors text[], p_limit integer, p_lease double precision) RETURNS TABLE(id uuid, wanted text, try integer, job_id uuid, attempt integer, claim_id uuid, executor text, inputs text, planned_at timestamp with time zone, run_ref text, run_id text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$
declare
  v_now timestamptz := holdfast.clock();
begin
  return query
  with due as materialized (
    select d.id, d.doubtful, d.state = 'over' as is_over
      from holdfast.dispatch d
     where d.next_try_at <= v_now and d.next_try_at is not null and d.executor = any (p_executors)
     order by d.next_try_at
     limit p_limit
       for no key update skip locked)
  update holdfast.dispatch d
     set state = case when due.is_over then 'over' else 'calling' end,
         tries = d.tries + (not due.is_over)::int,
         cancel_tries = d.cancel_tries + due.is_over::int,
         doubtful = true,
         taken_by = p_worker,
         next_try_at = v_now + make_interval(secs => p_lease)
    from due
   where d.id = any (array[due.id])
  returning d.id, case when due.is_over then 'cancel' when due.doubtful then 'find' else 'start' end,
            case when due.is_over then d.cancel_tries else d.tries end,
            d.job_id, d.attempt, d.claim_id, d.executor::text, d.inputs::text, d.created_at, d.run_ref, d.run_id;
end $$;

--
-- Name: take_tries(text[], integer[], interval[]); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.take_tries(p_buckets text[], p_tries integer[], p_periods interval[]) RETURNS interval
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
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
-- Name: tell_approvers(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.tell_approvers() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  perform holdfast.put_notification(holdfast.new_id(), 'approval', c.name, p.name, null, new.id, null, null, 20)
     from (select c.name
             from holdfast.alert_channel c
             join holdfast.task t on t.name = 'holdfast.notify.' || c.name
            where c.kind = 'email'
            order by c.name
            limit 1) as c
    cross join unnest(new.approvers) as p (name)
    where holdfast.is_address(p.name)
      and (new.self_approval or holdfast.person(p.name) is distinct from holdfast.person(new.requester));   -- the requester does not decide
  return null;
end $$;

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
  v_freed uuid[];
begin
  -- Most that fail have neither followers nor children; what follows here may read all jobs while its plan is young.
  if not exists (select from holdfast.dependency d where d.needs = any (p_ids) and d.position <> 0)
     and not exists (select from unnest(p_ids) as i (id) cross join lateral (select from holdfast.job c where c.parent_id = i.id limit 1) as child) then
    return null;
  end if;
  -- What never started is cancelled with what it needs, unless it says otherwise; children only when their parent is cancelled.
  -- Looked up one by one, with a limit that no planner can turn into a join: a plan made while the table was small would read all of it.
  with ended as materialized (
    select p.id, p.status
      from unnest(p_ids) as i (id)
      cross join lateral (select j.id, j.status from holdfast.job j where j.id = i.id limit 1) as p
     where p.status in ('FAILED', 'CANCELLED')),
  doomed as materialized (
    select distinct on (x.job_id) x.job_id, x.needs, x.why
      from (select d.job_id, p.id as needs, format('job %s, which it needs, is %s', p.id, p.status) as why
              from ended p
              join holdfast.dependency d on d.needs = any (array[p.id::uuid])
             where d.policy = 'cancel'
            union all
            select c.id, p.id, format('its parent %s was cancelled', p.id)
              from ended p
              cross join lateral (select c.id from holdfast.job c where c.parent_id = p.id and c.status = 'PENDING' offset 0) as c
             where p.status = 'CANCELLED') as x
     order by x.job_id),
  locked as materialized (
    select j.id, m.needs, m.why
      from (select * from doomed order by job_id) as m
      join holdfast.job j on j.id = any (array[m.job_id])
     where j.status = 'PENDING'
     order by m.job_id   -- not j.id: the planner would read all jobs in that order
       for no key update of j),
  gone as (
    update holdfast.job j
       set status = 'CANCELLED', claim_order = null, due_at = null, held_by = null,
           reason = l.why
      from locked l
     where j.id = any (array[l.id::uuid]) and j.status = 'PENDING'
    returning j.id)
  select array_agg(g.id) into v_cancelled from gone g;

  -- Waits are locked in a statement of their own: what each is for is read below, with it in hand. Else the end of one job would count for
  -- a wait for others that was committed in between.
  perform from holdfast.wait w
    where w.job_id = any (array(
            select d.job_id
              from unnest(p_ids) as i (id)
              cross join lateral (select j.id, j.ties, j.finished_at from holdfast.job j where j.id = i.id limit 1) as p
              join holdfast.dependency d on d.needs = any (array[p.id::uuid]) and d.position <> 0
             where p.ties & 2 > 0 and p.finished_at is not null))
    order by w.job_id
      for no key update;
  with ended as materialized (
    select p.id
      from unnest(p_ids) as i (id)
      cross join lateral (select j.id, j.ties, j.finished_at from holdfast.job j where j.id = i.id limit 1) as p
     where p.ties & 2 > 0 and p.finished_at is not null),
  fewer as (
    select d.job_id, count(*) as n
      from ended e
      join holdfast.dependency d on d.needs = any (array[e.id::uuid]) and d.position <> 0
     group by d.job_id
     order by d.job_id),
  counted as (
    update holdfast.wait w
       set remaining = w.remaining - f.n
      from (select f.job_id, f.n from fewer f join holdfast.wait w on w.job_id = any (array[f.job_id]) order by f.job_id for no key update of w) as f
     where w.job_id = any (array[f.job_id])
    returning w.job_id, w.remaining, w.run_at, w.step, w.until),
  -- A waiting attempt's row stays until the attempt has read it; one that never started, or has ended, needs it no more.
  freed as (
    select c.job_id, c.step, c.until, greatest(c.run_at, v_now) as due from counted c where c.remaining <= 0),
  ready as (
    update holdfast.job j
       set held_by = null, due_at = case when j.ties & 1 = 1 or f.due > v_now then f.due end,
           claim_order = case when j.ties & 1 = 0 and f.due <= v_now then holdfast.place_in_line(v_now, j.priority) end
      -- Not one that runs: it is perhaps about to wait again, with its lock in hand, and waits for ours. It looks itself what has ended.
      from (select f.job_id, f.due, f.until
              from freed f
              join holdfast.job j on j.id = any (array[f.job_id])
             where j.status in ('PENDING', 'WAITING')
             order by f.job_id
               for no key update of j) as f
     where j.id = any (array[f.job_id]) and j.status in ('PENDING', 'WAITING') and j.claim_order is null
       and j.due_at is not distinct from f.until   -- else it has been woken, and waits for something else now
       and (f.until is null or f.until > v_now)   -- by its time too: who is due since then keeps his place
    returning j.queue)
  select (select array_agg(distinct r.queue) from ready r), (select array_agg(f.job_id) from freed f)
    into v_queues, v_freed;
  delete from holdfast.wait w
   where w.job_id = any (v_freed)
     and (w.step is null or (select j.finished_at is not null from holdfast.job j where j.id = w.job_id));
  if v_queues is not null then
    perform holdfast.wake(v_queues);
  end if;
  return v_cancelled;
end $$;

--
-- Name: tell_of_alert(uuid, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.tell_of_alert(p_alert uuid, p_kind text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select holdfast.put_notification(holdfast.new_id(), p_kind, c.name, null, a.id, null, null, null,
           case a.severity when 'critical' then 50 when 'warning' then 20 else 0 end)
    from holdfast.alert a
    join holdfast.alert_rule r on r.name = a.rule
    join holdfast.alert_channel c on c.name = any (r.channels)
    join holdfast.task t on t.name = 'holdfast.notify.' || c.name
   where a.id = p_alert and r.enabled
   order by c.name
$$;

--
-- Name: tell_quota(text, text, text, text, text, numeric, numeric, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.tell_quota(p_kind text, p_tenant text, p_task text, p_period text, p_measure text, p_mark numeric, p_used numeric, p_since timestamp with time zone) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  insert into holdfast.published (at, channel, kind, data)
  values (holdfast.clock(), 'tenant:' || p_tenant, p_kind,
          jsonb_build_object('tenant', p_tenant, 'task', p_task, 'period', p_period, 'measure', p_measure, 'mark', p_mark, 'used', p_used, 'since', p_since))
$$;

--
-- Name: tenants_in_line(text, text, text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.tenants_in_line(p_queue text, p_from text, p_below text, p_most integer, OUT tenants text[], OUT heads timestamp with time zone[]) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    AS $$
begin
  with recursive hop as (
    (select 1 as number, coalesce(j.tenant, '') as tenant, j.claim_order
       from holdfast.job j
      where j.queue = p_queue and coalesce(j.tenant, '') >= p_from and coalesce(j.tenant, '') > '' and j.claim_order is not null and not j.suspect
      order by coalesce(j.tenant, ''), j.claim_order
      limit 1)
    union all
    select h.number + 1, further.tenant, further.claim_order
      from hop h
     cross join lateral (
       select coalesce(j.tenant, '') as tenant, j.claim_order
         from holdfast.job j
        where j.queue = p_queue and coalesce(j.tenant, '') > h.tenant and j.claim_order is not null and not j.suspect
        order by coalesce(j.tenant, ''), j.claim_order
        limit 1) as further
     where h.number < p_most and (p_below is null or h.tenant < p_below))
  select coalesce(array_agg(h.tenant order by h.number), '{}'), coalesce(array_agg(h.claim_order order by h.number), '{}')
    into tenants, heads
    from hop h
   where p_below is null or h.tenant < p_below;
end $$;

--
-- Name: token_holder(holdfast.approval, bytea); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.token_holder(p_gate holdfast.approval, p_token_hash bytea) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_name text;
begin
  if p_gate.id is null
     or (cardinality(p_gate.wrong_tries) >= 5 and p_gate.wrong_tries[1] > holdfast.clock() - interval '1 minute') then
    return null;
  end if;
  select r.name into v_name
    from holdfast.approver r
   where r.approval_id = p_gate.id and r.token_hash = p_token_hash and r.used_at is null;
  if not found then
    update holdfast.approval a
       set wrong_tries = a.wrong_tries[greatest(cardinality(a.wrong_tries) - 3, 1):] || holdfast.clock()
     where a.id = p_gate.id;
  end if;
  return v_name;
end $$;

--
-- Name: told_of_birth(uuid, timestamp with time zone, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.told_of_birth(p_retry_of uuid, p_due_at timestamp with time zone, p_held_by text) RETURNS jsonb
    LANGUAGE sql STABLE
    RETURN CASE WHEN ((p_retry_of IS NOT NULL) OR (p_due_at IS NOT NULL) OR (p_held_by IS NOT NULL)) THEN jsonb_strip_nulls(jsonb_build_object('retry_of', p_retry_of, 'due_at', p_due_at, 'held_by', p_held_by)) ELSE NULL::jsonb END;

--
-- Name: told_of_decision(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.told_of_decision(p_job uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_gate holdfast.approval;
begin
  select * into v_gate from holdfast.approval a where a.job_id = p_job order by a.attempt desc, a.id desc limit 1;
  if not found then
    return null;
  end if;
  if v_gate.decided_at is null then
    perform holdfast.count_refusal();
    raise exception 'job % waits for approval %, which nobody has decided', p_job, v_gate.id
      using errcode = 'HF001', hint = 'Decide it (holdfast approval approve or deny), or cancel the job.';
  end if;
  return jsonb_build_object('approval', jsonb_strip_nulls(jsonb_build_object('id', v_gate.id, 'name', v_gate.name,
           'decision', v_gate.decision, 'by', v_gate.decided_by, 'at', v_gate.decided_at, 'from', v_gate.decided_from, 'reason', v_gate.reason)));
end $$;

--
-- Name: told_of_gate(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.told_of_gate(p_approval uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select jsonb_build_object('approval', jsonb_strip_nulls(jsonb_build_object('id', a.id, 'name', a.name, 'question', a.question,
           'approvers', a.approvers, 'quorum', a.quorum, 'expires_at', a.expires_at, 'on_expiry', a.on_expiry)))
    from holdfast.approval a
   where a.id = p_approval
$$;

--
-- Name: told_of_move(uuid, holdfast.job_status, holdfast.job_status, uuid, jsonb, integer, integer, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.told_of_move(p_job uuid, p_from holdfast.job_status, p_to holdfast.job_status, p_approval uuid, p_error jsonb, p_retries integer, p_crashes integer, p_due_at timestamp with time zone) RETURNS jsonb
    LANGUAGE sql
    RETURN CASE p_to WHEN 'FAILED'::holdfast.job_status THEN (CASE WHEN (jsonb_typeof(p_error) = 'object'::text) THEN (p_error - 'traceback'::text) ELSE NULL::jsonb END || CASE WHEN (p_from = 'WAITING_FOR_APPROVAL'::holdfast.job_status) THEN COALESCE(holdfast.told_of_decision(p_job), '{}'::jsonb) ELSE '{}'::jsonb END) WHEN 'RUNNING'::holdfast.job_status THEN CASE WHEN (p_from = 'WAITING_FOR_APPROVAL'::holdfast.job_status) THEN holdfast.told_of_decision(p_job) ELSE NULL::jsonb END WHEN 'WAITING_FOR_APPROVAL'::holdfast.job_status THEN holdfast.told_of_gate(p_approval) WHEN 'RETRY'::holdfast.job_status THEN jsonb_strip_nulls(jsonb_build_object('retry_count', p_retries, 'crash_count', NULLIF(p_crashes, 0), 'due_at', p_due_at, 'error', CASE WHEN (jsonb_typeof(p_error) = 'object'::text) THEN (p_error - 'traceback'::text) ELSE NULL::jsonb END)) ELSE NULL::jsonb END;

--
-- Name: too_many_failures(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.too_many_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'task:' || s.task, format('%s jobs of task %s FAILED within %s', sum(s.failed), s.task, holdfast.in_words(p_rule.period)),
         null::uuid, sum(s.failed)::bigint, p_now
    from holdfast.statistic s
   where s.minute > p_now - p_rule.period - interval '1 minute' and s.failed > 0 and not holdfast.is_own_task(s.task)
     and (p_rule.task is null or s.task = p_rule.task) and (p_rule.queue is null or s.queue = p_rule.queue)
   group by s.task
  having sum(s.failed) > p_rule.threshold
$$;

--
-- Name: try_to_enqueue(jsonb); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.try_to_enqueue(p_jobs jsonb) RETURNS TABLE(nth bigint, job_id uuid, created boolean)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $_$
declare
  v_now timestamptz := holdfast.clock();
  v_said bytea := holdfast.said('PENDING', v_now, pg_current_xact_id()::text::bigint, holdfast.actor(), null, null);
  v_many int := jsonb_array_length(p_jobs);
  v_careful boolean;
  v_born bigint;
  v_wakes text[];
  v_gated uuid[];
  v_flows boolean;
  v_made jsonb;
begin
  -- A careful insert leaves out what conflicts, and costs half as much again: a few jobs are quicker inserted so than
  -- looked up first, many are not.
  v_careful := v_many <= 5 or holdfast.might_conflict(p_jobs);
  if not v_careful then
    begin
      with born as (
        insert into holdfast.job (id, created_at, updated_at, claim_order, due_at, held_by, priority, max_retries, ties, task, queue, tenant,
               subject, parent_id, label, requested_by, trace_parent, timeout, tags, metadata, payload, chain)
        select w.id, v_now, v_now,
               case when w.run_at > v_now or w.ties > 0 or w.needs_jobs then null else holdfast.place_in_line(v_now, w.priority) end,
               case when w.needs_jobs then null when w.run_at > v_now then w.run_at when w.ties > 0 then v_now end,
               case when w.needs_jobs then 'jobs' end, w.priority, w.max_retries, w.ties, w.task, w.queue, w.tenant,
               w.subject, w.parent_id, w.label, w.requested_by, w.trace_parent, w.timeout, w.tags, w.metadata, w.payload,
               -- A birth that tells more than the others of this call, link_birth links: a sixth of an insert.
               case when w.requested_by is null and not w.needs_jobs and w.ties = 0 and (w.run_at <= v_now) is not false
                    then holdfast.linked(uuid_send(w.id), null, v_said) end
          from holdfast.wanted(p_jobs, v_now) as w
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
        from holdfast.wanted(p_jobs, v_now) as w
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
      perform holdfast.join_parents(p_jobs, '{}', v_now);
    end if;
    return query
      select w.nth, (w.one ->> 'id')::uuid, true
        from jsonb_array_elements(p_jobs) with ordinality as w (one, nth);
    return;
  end if;
  if p_jobs @? '$[*] ? (@.on_conflict == "replace")' then
    perform holdfast.lock_replaced(p_jobs);
  end if;
  select jsonb_agg(jsonb_build_object('nth', w.nth, 'asked', w.one ->> 'id', 'job_id', s.job_id, 'created', s.created) order by w.nth) into v_made
    from (select e.nth, e.one
            from jsonb_array_elements(p_jobs) with ordinality as e (one, nth)
            join holdfast.task t on t.name = e.one ->> 'task'
           -- The order of the insert above: what gets a key that is free now waits for whoever has just taken it.
           order by e.one ->> 'tenant', t.name, coalesce(e.one ->> 'key', holdfast.key_of(e.one -> 'payload', t.unique_by)), e.nth) as w
    cross join lateral holdfast.settle_conflict((w.one ->> 'id')::uuid, w.one, v_now) as s;
  if v_flows or p_jobs @? '$[*].after[*]' then   -- what was born in place of another is tied too
    perform holdfast.join_parents(p_jobs, (select jsonb_object_agg(m ->> 'asked', m ->> 'job_id') from jsonb_array_elements(v_made) as m), v_now);
  end if;
  return query
    select m.nth, m.job_id, m.created from jsonb_to_recordset(v_made) as m (nth bigint, job_id uuid, created boolean) order by m.nth;
end $_$;

--
-- Name: unapproved(uuid); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unapproved(p_approval uuid) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'a job that waits for a person is not due and not in line before it is approved'
   where not exists (select from holdfast.approval a where a.id = p_approval and a.decision = 'approved')
$$;

--
-- Name: undeclared_schedules(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.undeclared_schedules(p_now timestamp with time zone) RETURNS TABLE(name text, is_gone boolean)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select s.name,
         not exists (select from holdfast.worker w where coalesce(w.died_at, p_now) >= p_now - interval '10 minutes' and s.name = any (w.schedules))
    from holdfast.schedule s
   where s.paused_at is null and s.withdrawn_at is null and (s.next_at is null or s.next_at <= p_now) and s.declared
     and exists (select from holdfast.worker w
                  where w.died_at is null and w.seen_at + w.lease >= p_now and s.task = any (w.tasks) and w.schedules is not null)
     and not exists (select from holdfast.worker w
                      where w.died_at is null and w.seen_at + w.lease >= p_now and s.name = any (w.schedules))
$$;

--
-- Name: unknown_approval(); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unknown_approval() RETURNS holdfast.answer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ROW('unknown'::text, NULL::uuid, NULL::text, NULL::text, NULL::timestamp with time zone, NULL::text, NULL::integer, NULL::integer, NULL::text)::holdfast.answer;

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
-- Name: unpark(text, integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unpark(p_held text, p_limit integer) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
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
     where j.held_by collate "C" = p_held and j.held_by is not null and j.claim_order is null
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
-- Name: unserved_queues(holdfast.alert_rule, timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.unserved_queues(p_rule holdfast.alert_rule, p_now timestamp with time zone) RETURNS TABLE(about text, message text, job_id uuid, count bigint, seen_at timestamp with time zone)
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select 'queue:' || l.queue, format('jobs wait in queue %s, and no live worker serves it', l.queue), null::uuid, 1::bigint, p_now
    from holdfast.open_lines(p_rule, p_now) as l
   where l.since < p_now - p_rule.period
     and not exists (select from holdfast.worker w where w.died_at is null and w.stopped_at is null and w.wish is null and w.seen_at + w.lease >= p_now and w.queues ? l.queue)
$$;

--
-- Name: upkeep(integer); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.upkeep(p_limit integer DEFAULT 5000, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) RETURNS record
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  select k.partitions, k.removed, k.forgotten from holdfast.keep_up(p_limit) as k
$$;

--
-- Name: use_key(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.use_key(p_id text) RETURNS void
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  update holdfast.api_key k
     set used_at = holdfast.clock()
   where k.id = p_id and coalesce(k.used_at, '-infinity') < holdfast.clock() - interval '1 minute'
$$;

--
-- Name: uuid_at(timestamp with time zone); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.uuid_at(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    RETURN ((lpad(to_hex((floor((EXTRACT(epoch FROM p_at) * (1000)::numeric)))::bigint), 12, '0'::text) || '00000000000000000000'::text))::uuid;

--
-- Name: vote(holdfast.approval, text, text, text, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.vote(p_gate holdfast.approval, p_who text, p_how text, p_decision text, p_reason text, p_origin text, p_seen_hash text) RETURNS holdfast.answer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_answer holdfast.answer;
  v_problem text;
begin
  if p_gate.decided_at is not null then
    return holdfast.how_it_stands(p_gate.id, 'already');
  end if;
  v_problem := holdfast.objection(p_gate, p_who, p_decision, p_reason, p_seen_hash);
  if v_problem is not null then
    v_answer := holdfast.how_it_stands(p_gate.id, 'refused');
    v_answer.problem := v_problem;
    return v_answer;
  end if;
  insert into holdfast.approval_decision (approval_id, who, decision, reason, origin, how, at, bound_hash)
  values (p_gate.id, p_who, p_decision, nullif(btrim(p_reason), ''), p_origin, p_how, holdfast.clock(), p_gate.bound_hash)
  on conflict do nothing;   -- the same voice again counts once
  v_answer := holdfast.how_it_stands(p_gate.id, 'counted');
  if p_decision = 'deny' then
    perform holdfast.conclude(p_gate, 'denied', p_who, p_origin, btrim(p_reason),
              holdfast.approval_error('ApprovalDenied', format('approval %s was denied by %s: %s', p_gate.name, p_who, btrim(p_reason))));
  elsif v_answer.approvals >= p_gate.quorum then
    perform holdfast.conclude(p_gate, 'approved', p_who, p_origin, nullif(btrim(p_reason), ''), null);
  else
    perform holdfast.note(p_gate.job_id, 'approval.counted', p_who, jsonb_build_object('approval', p_gate.id, 'name', p_gate.name,
              'approvals', v_answer.approvals, 'quorum', p_gate.quorum));
    return v_answer;
  end if;
  return holdfast.how_it_stands(p_gate.id, 'decided');
end $$;

--
-- Name: wait_for_event(uuid, integer, uuid, text, text, text, double precision, jsonb, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.wait_for_event(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_event text, p_timeout double precision, p_logs jsonb, p_importance text DEFAULT NULL::text, OUT waits boolean, OUT timed_out boolean, OUT payload text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_job holdfast.job;
  v_now timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_event holdfast.event;
  v_told jsonb;
begin
  perform holdfast.lock_event(p_event);
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  select s.value into v_told from holdfast.step s where s.job_id = p_job and s.name = p_name;
  if found then   -- the answer to the first call was lost: what it took is not taken twice
    waits := false;
    timed_out := (v_told ->> 'timed_out')::boolean;
    payload := case when not timed_out then (v_told -> 'payload')::text end;
    return;
  end if;
  v_now := holdfast.clock();
  select w.since, w.until into v_since, v_until
    from holdfast.wait w
   where w.job_id = p_job and w.step = p_name;
  if not found then
    v_since := v_now;
    v_until := v_now + make_interval(secs => p_timeout);
  end if;
  select * into v_event
    from holdfast.event e
   where e.name = p_event and (e.tenant is null or e.tenant = v_job.tenant)
     and e.id > coalesce((select max((s.value ->> 'id')::bigint)
                            from holdfast.step s
                           where s.job_id = p_job and s.kind = 'event' and s.value ->> 'event' = p_event), 0)
   order by e.id
   limit 1;
  payload := v_event.payload::text;
  timed_out := v_event.id is null and coalesce(v_until <= v_now, false);
  waits := v_event.id is null and not timed_out;
  if waits then
    insert into holdfast.wait (job_id, step, after, event, until, since)
    values (p_job, p_name, p_after, p_event, v_until, v_since)
    on conflict (job_id) do update set step = excluded.step, after = excluded.after, event = excluded.event, remaining = null,
       until = excluded.until, since = excluded.since;
    perform holdfast.put_aside(v_job, v_until, case when v_until is null then 'event ' || p_event end,
      'waits for event ' || p_event || coalesce(' until ' || holdfast.moment(v_until), ''), p_logs);
  else
    delete from holdfast.wait w where w.job_id = p_job;
    insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
    values (p_job, p_name, 'event', p_after, p_attempt, v_since, v_now,
            jsonb_build_object('event', p_event, 'id', v_event.id, 'payload', v_event.payload, 'timed_out', timed_out), p_importance);
  end if;
end $$;

--
-- Name: wait_for_jobs(uuid, integer, uuid, text, text, uuid[], double precision, jsonb, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.wait_for_jobs(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_ids uuid[], p_timeout double precision, p_logs jsonb, p_importance text DEFAULT NULL::text, OUT waits boolean, OUT timed_out boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$
declare
  v_job holdfast.job;
  v_now timestamptz;
  v_since timestamptz;
  v_until timestamptz;
  v_known bigint;
  v_is_again boolean;
  v_open uuid[];
  v_others uuid[];
begin
  if p_job = any (p_ids) then
    raise exception 'job % cannot wait for itself', p_job using errcode = 'HF005';
  end if;
  select count(*) filter (where l.id <> p_job), array_agg(l.id) filter (where l.finished_at is null and l.id <> p_job),
         array_agg(l.id) filter (where l.parent_id is distinct from p_job and l.id <> p_job)
    into v_known, v_open, v_others
    from (select j.id, j.finished_at, j.parent_id from holdfast.job j where j.id = any (p_ids || p_job)
           order by j.status = 'RUNNING' desc, j.id for no key update) as l;
  if v_known < (select count(distinct i) from unnest(p_ids) as i) then
    raise exception 'job % cannot wait for jobs that do not exist', p_job using errcode = 'HF009';
  end if;
  v_job := holdfast.hold_fence(p_job, p_attempt, p_claim_id);
  waits := false;
  select (s.value ->> 'timed_out')::boolean into timed_out from holdfast.step s where s.job_id = p_job and s.name = p_name;
  if found then
    return;   -- the answer to the first call was lost
  end if;
  v_now := holdfast.clock();
  select w.since, w.until into v_since, v_until
    from holdfast.wait w
   where w.job_id = p_job and w.step = p_name;
  v_is_again := found;
  if not v_is_again then
    v_since := v_now;
    v_until := v_now + make_interval(secs => p_timeout);
  end if;
  timed_out := v_open is not null and coalesce(v_until <= v_now, false);
  waits := v_open is not null and not timed_out;
  if waits or not v_is_again then
    -- Of another wait, which it gave up when its time came and has not read since: their ends are not for this one, and it may still read them.
    update holdfast.dependency d set position = 0 where d.job_id = p_job and d.position < 0;
  end if;
  if waits and v_until is null and holdfast.is_awaited_by(p_job, v_open) then
    raise exception 'job % cannot wait for jobs that wait for it: they would wait for ever', p_job using errcode = 'HF005';
  end if;
  if waits then
    update holdfast.job j set ties = j.ties | 2 where j.id = any (v_open) and j.ties & 2 = 0;
    insert into holdfast.dependency (needs, job_id, position, policy)
    select o.id, p_job, -min(o.n), 'run'   -- counted downwards: what it was enqueued after counts upwards
      from unnest(p_ids) with ordinality as o (id, n)
     where o.id = any (v_open)
     group by o.id
    on conflict (needs, job_id) do update set position = excluded.position where dependency.position = 0;
    perform holdfast.keep_readable(p_job, v_others);
    insert into holdfast.wait (job_id, step, after, remaining, until, since)
    values (p_job, p_name, p_after, cardinality(v_open), v_until, v_since)
    on conflict (job_id) do update set step = excluded.step, after = excluded.after, event = null, remaining = excluded.remaining,
       until = excluded.until, since = excluded.since;
    perform holdfast.put_aside(v_job, v_until, case when v_until is null then cardinality(v_open) || ' jobs' end,
      format('waits for %s jobs', cardinality(v_open)) || coalesce(' until ' || holdfast.moment(v_until), ''), p_logs);
  else
    delete from holdfast.wait w where w.job_id = p_job;
    delete from holdfast.dependency d where d.job_id = p_job and d.position < 0;
    if not timed_out then   -- or nobody reads what came of them
      perform holdfast.keep_readable(p_job, v_others);
    end if;
    insert into holdfast.step (job_id, name, kind, after, attempt, started_at, finished_at, value, importance)
    values (p_job, p_name, 'jobs', p_after, p_attempt, v_since, v_now, jsonb_build_object('timed_out', timed_out), p_importance);
  end if;
end $$;

--
-- Name: waiting_since(text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.waiting_since(p_queue text) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
  with recursive heads as (
    (select 1 as number, coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
       from holdfast.job j
      where j.queue = p_queue and j.claim_order is not null and not j.suspect
      order by coalesce(j.tenant, ''), j.claim_order, j.id
      limit 1)
    union all
    select h.number + 1, further.tenant, further.since
      from heads h
     cross join lateral (
       select coalesce(j.tenant, '') as tenant, greatest(j.created_at, j.due_at) as since
         from holdfast.job j
        where j.queue = p_queue and j.claim_order is not null and not j.suspect and coalesce(j.tenant, '') > h.tenant
        order by coalesce(j.tenant, ''), j.claim_order, j.id
        limit 1) as further
     where h.number < 1000)
  select min(h.since) from heads h
$$;

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
-- Name: quota; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.quota (
    tenant holdfast.name NOT NULL,
    task holdfast.name,
    period text NOT NULL,
    measure text DEFAULT 'enqueued'::text NOT NULL,
    soft numeric,
    hard numeric,
    told_until timestamp with time zone,
    reached_until timestamp with time zone,
    CONSTRAINT quota_has_a_mark CHECK (((soft IS NOT NULL) OR (hard IS NOT NULL))),
    CONSTRAINT quota_marks_are_positive CHECK (((soft > (0)::numeric) AND (hard > (0)::numeric))),
    CONSTRAINT quota_measure_is_known CHECK ((measure = ANY (ARRAY['enqueued'::text, 'runs'::text, 'run_seconds'::text]))),
    CONSTRAINT quota_period_is_known CHECK ((period = ANY (ARRAY['day'::text, 'month'::text])))
);

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
             WHEN (w.tenant = '*'::text) THEN holdfast.bad_input(w.nth, '* is no tenant: it stands for all of them'::text)
             WHEN ((GREATEST(length(w.queue), length(w.tenant)) > 200) OR (GREATEST(length(w.subject), length(w.key), length(w.label)) > 500)) THEN holdfast.bad_input(w.nth, 'a queue or tenant may have 200 characters, a subject, key or label 500'::text)
             WHEN (w.key_scope <> ALL (ARRAY['active'::text, 'success'::text, 'ever'::text])) THEN holdfast.bad_input(w.nth, format('key scope %L is not one of active, success, ever'::text, w.key_scope))
             WHEN ((w.after IS NOT NULL) AND (NOT holdfast.are_strings(w.after))) THEN holdfast.bad_input(w.nth, 'after must be a list of job ids'::text)
             WHEN (w.on_parent_failure <> ALL (ARRAY['cancel'::text, 'run'::text])) THEN holdfast.bad_input(w.nth, format('on_parent_failure %L is not one of cancel, run'::text, w.on_parent_failure))
             WHEN (w.on_conflict <> ALL (ARRAY['return'::text, 'raise'::text, 'replace'::text])) THEN holdfast.bad_input(w.nth, format('on_conflict %L is not one of return, raise, replace'::text, w.on_conflict))
             WHEN ((w.tenant IS NOT NULL) AND (EXISTS ( SELECT
                FROM holdfast.quota q
               WHERE (((q.tenant)::text = w.tenant) AND (q.reached_until > wanted.p_now) AND ((q.task IS NULL) OR ((q.task)::text = w.task)))))) THEN holdfast.refuse_quota(w.nth, w.id, w.tenant, w.task, wanted.p_now)
             ELSE true
         END;
END;

--
-- Name: why_unchanged(text, holdfast.job); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.why_unchanged(p_action text, p_job holdfast.job) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
begin
  return case
    when p_action = 'delete' and not holdfast.is_terminal(p_job.status) then format('it is %s: only what has ended can be deleted', p_job.status)
    when p_action <> 'delete' and holdfast.is_terminal(p_job.status) then format('it is %s', p_job.status)
    when p_action = 'move' and p_job.status = 'RUNNING' then 'it is RUNNING: stop it, or wait for the end of its attempt'
    when p_action = 'move' and holdfast.is_own_task(p_job.task) then 'it is Holdfast''s own, and stays in its queue'
    when p_action = 'delete' and holdfast.is_needed(p_job.id, p_job.parent_id) then 'a job that has not ended, can be retried or is still to be undone needs it, it is the retry of a job that is still there, or what undoes it has not ended'
    when p_action = 'delete' and holdfast.awaits_projection(p_job.id) then 'its end has not been counted yet: try again in a moment'
  end;
end $$;

--
-- Name: wish_of_worker(uuid, text, text, text); Type: FUNCTION; Schema: holdfast; Owner: -
--

CREATE FUNCTION holdfast.wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'holdfast', 'pg_temp'
    AS $$
declare
  v_worker holdfast.worker;
begin
  perform holdfast.require_unbound('a worker');
  select * into v_worker from holdfast.worker w where w.id = p_worker and w.died_at is null for no key update;
  if not found then
    raise exception 'no living worker has the id %', p_worker using errcode = 'HF014';
  end if;
  if v_worker.queues = '{}' then
    raise exception 'worker % is a program that claims for itself', v_worker.name
      using errcode = 'HF001', hint = 'Stop it where it runs.';
  end if;
  if v_worker.wish = 'stop' and p_wish is distinct from 'stop' then
    raise exception 'worker % was asked to stop, which cannot be taken back', v_worker.name
      using errcode = 'HF001', hint = 'Start another.';
  end if;
  update holdfast.worker w
     set wish = p_wish, wished_for = p_reason,
         wished_by = case when p_wish is not null then coalesce(p_actor, session_user) end,
         wished_at = case when p_wish is not null then holdfast.clock() end
   where w.id = p_worker;
end $$;

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
-- Name: alert; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.alert (
    id uuid DEFAULT holdfast.new_id() NOT NULL,
    rule holdfast.name NOT NULL,
    about text NOT NULL,
    severity text NOT NULL,
    message text NOT NULL,
    job_id uuid,
    count bigint DEFAULT 1 NOT NULL,
    opened_at timestamp with time zone NOT NULL,
    last_seen_at timestamp with time zone NOT NULL,
    closed_at timestamp with time zone,
    CONSTRAINT alert_about_has_1_to_600_characters CHECK (((about <> ''::text) AND (length(about) <= 600))),
    CONSTRAINT alert_goes_forward CHECK (((last_seen_at >= opened_at) AND (closed_at >= opened_at)))
)
WITH (fillfactor='70');

--
-- Name: alert_channel; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.alert_channel (
    name holdfast.name NOT NULL,
    kind text NOT NULL,
    app text NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    CONSTRAINT alert_channel_kind_is_known CHECK ((kind = ANY (ARRAY['email'::text, 'slack'::text, 'webhook'::text])))
);

--
-- Name: alert_watch; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.alert_watch (
    only_one boolean DEFAULT true NOT NULL,
    ran_at timestamp with time zone,
    CONSTRAINT alert_watch_only_one_check CHECK (only_one)
)
WITH (fillfactor='10');

--
-- Name: approval_decision; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.approval_decision (
    approval_id uuid NOT NULL,
    who text NOT NULL,
    decision text NOT NULL,
    reason text,
    origin text,
    how text NOT NULL,
    at timestamp with time zone NOT NULL,
    bound_hash text NOT NULL,
    CONSTRAINT approval_decision_is_approve_or_deny CHECK ((decision = ANY (ARRAY['approve'::text, 'deny'::text]))),
    CONSTRAINT approval_decision_way_is_known CHECK ((how = ANY (ARRAY['token'::text, 'person'::text, 'system'::text]))),
    CONSTRAINT approval_denial_has_a_reason CHECK (((decision = 'approve'::text) OR (reason IS NOT NULL)))
);

--
-- Name: approver; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.approver (
    approval_id uuid NOT NULL,
    name text NOT NULL,
    token_hash bytea NOT NULL,
    minted_at timestamp with time zone NOT NULL,
    used_at timestamp with time zone,
    CONSTRAINT approver_token_hash_is_sha256 CHECK ((octet_length(token_hash) = 32))
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
-- Name: audit; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.audit (
    id bigint NOT NULL,
    at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    actor text NOT NULL,
    address text,
    action text NOT NULL,
    target text,
    tenant text,
    reason text,
    data jsonb,
    CONSTRAINT audit_reason_has_500_characters_at_most CHECK ((length(reason) <= 500))
);

--
-- Name: audit_id_seq; Type: SEQUENCE; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.audit ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME holdfast.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

--
-- Name: callback_nonce; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.callback_nonce (
    job_id uuid NOT NULL,
    nonce holdfast.name NOT NULL,
    body_hash bytea NOT NULL,
    answer text NOT NULL,
    at timestamp with time zone NOT NULL
);

--
-- Name: channel; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.channel (
    name text NOT NULL,
    last_id bigint DEFAULT 0 NOT NULL,
    last_at timestamp with time zone NOT NULL,
    listened_at timestamp with time zone,
    CONSTRAINT channel_name_has_1_to_600_characters CHECK (((name <> ''::text) AND (length(name) <= 600)))
)
WITH (fillfactor='70');

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
-- Name: device; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.device (
    digest bytea NOT NULL,
    person text NOT NULL,
    seen_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT device_digest_is_sha256 CHECK ((octet_length(digest) = 32))
);

--
-- Name: duration; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.duration (
    queue text NOT NULL,
    task text NOT NULL,
    what text NOT NULL,
    bucket smallint NOT NULL,
    count bigint NOT NULL,
    seconds numeric(30,6) NOT NULL,
    CONSTRAINT duration_is_known CHECK ((what = ANY (ARRAY['wait'::text, 'run'::text])))
)
WITH (fillfactor='50');

--
-- Name: event; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.event (
    id bigint NOT NULL,
    name holdfast.long_name NOT NULL,
    tenant holdfast.name,
    payload jsonb NOT NULL,
    emitted_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    emitted_by text NOT NULL,
    token uuid,
    woke bigint DEFAULT 0 NOT NULL
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
-- Name: feed; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.feed (
    channel text NOT NULL,
    id bigint NOT NULL,
    job_id uuid,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    data jsonb NOT NULL
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
    metadata jsonb,
    since timestamp with time zone
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
   FROM holdfast.job_history h
  WHERE (EXISTS ( SELECT
           FROM holdfast.job j
          WHERE (((j.id)::uuid = h.job_id) AND holdfast.may_see((j.tenant)::text))));

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
    metadata jsonb,
    since timestamp with time zone
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
    "substring"((error ->> 'type'::text), '^[A-Za-z_][A-Za-z0-9_.]{0,99}$'::text) AS error_type
   FROM holdfast.job j
  WHERE holdfast.may_see((tenant)::text);

--
-- Name: left_over; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.left_over (
    at timestamp with time zone NOT NULL,
    job_id uuid NOT NULL,
    seq integer,
    activity bigint,
    CONSTRAINT left_over_is_history_or_activity CHECK (((seq IS NULL) <> (activity IS NULL)))
);

--
-- Name: log_part; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.log_part (
    job_id uuid NOT NULL,
    attempt integer NOT NULL,
    first integer NOT NULL,
    at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    worker text NOT NULL,
    lines jsonb NOT NULL
);

--
-- Name: login_try; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.login_try (
    bucket text NOT NULL,
    empty_at timestamp with time zone NOT NULL
);

--
-- Name: notification; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.notification (
    id uuid NOT NULL,
    kind text NOT NULL,
    channel holdfast.name NOT NULL,
    recipient text,
    alert_id uuid,
    approval_id uuid,
    subject text,
    body text,
    priority holdfast.priority DEFAULT 0 NOT NULL,
    job_id uuid NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    delivered_at timestamp with time zone,
    CONSTRAINT notification_body_has_at_most_64_kib CHECK ((octet_length(body) <= 65536)),
    CONSTRAINT notification_has_what_it_tells CHECK ((((kind = ANY (ARRAY['opened'::text, 'resolved'::text])) = (alert_id IS NOT NULL)) AND ((kind = 'approval'::text) = (approval_id IS NOT NULL)) AND ((kind = 'message'::text) = ((subject IS NOT NULL) AND (body IS NOT NULL))))),
    CONSTRAINT notification_is_delivered_at_a_time CHECK (((state = 'delivered'::text) = (delivered_at IS NOT NULL))),
    CONSTRAINT notification_kind_is_known CHECK ((kind = ANY (ARRAY['opened'::text, 'resolved'::text, 'approval'::text, 'message'::text]))),
    CONSTRAINT notification_recipient_is_one_line CHECK ((((length(recipient) >= 1) AND (length(recipient) <= 320)) AND (recipient !~ '[[:cntrl:]]'::text))),
    CONSTRAINT notification_state_is_known CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'void'::text, 'failed'::text]))),
    CONSTRAINT notification_subject_is_one_line CHECK ((((length(subject) >= 1) AND (length(subject) <= 200)) AND (subject !~ '[[:cntrl:]]'::text)))
)
WITH (fillfactor='70');

--
-- Name: operation_chunk; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.operation_chunk (
    operation_id uuid NOT NULL,
    nth integer NOT NULL,
    jobs uuid[] NOT NULL,
    finished_at timestamp with time zone,
    done integer DEFAULT 0 NOT NULL,
    skipped integer DEFAULT 0 NOT NULL,
    refusals jsonb DEFAULT '[]'::jsonb NOT NULL,
    CONSTRAINT chunk_has_1_to_500_jobs CHECK (((cardinality(jobs) >= 1) AND (cardinality(jobs) <= 500)))
);

--
-- Name: person; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.person (
    name text NOT NULL,
    password text NOT NULL,
    role text NOT NULL,
    tenant holdfast.name,
    created_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    created_by text NOT NULL,
    disabled_at timestamp with time zone,
    signed_in_at timestamp with time zone,
    CONSTRAINT person_has_known_role CHECK ((role = ANY (ARRAY['viewer'::text, 'approver'::text, 'operator'::text, 'admin'::text]))),
    CONSTRAINT person_name_is_plain CHECK ((name ~ '^[a-z0-9][a-z0-9._@+-]{0,199}$'::text)),
    CONSTRAINT person_password_is_argon2id CHECK ((password ~~ '$argon2id$%'::text))
);

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
-- Name: published; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.published (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    channel text NOT NULL,
    kind holdfast.name NOT NULL,
    data jsonb NOT NULL,
    CONSTRAINT published_channel_has_1_to_600_characters CHECK (((channel <> ''::text) AND (length(channel) <= 600)))
);

--
-- Name: published_id_seq; Type: SEQUENCE; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.published ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME holdfast.published_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

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
-- Name: refusal; Type: SEQUENCE; Schema: holdfast; Owner: -
--

CREATE SEQUENCE holdfast.refusal
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

--
-- Name: request; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.request (
    tenant text NOT NULL,
    key text NOT NULL,
    digest bytea NOT NULL,
    status integer,
    answer text,
    at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT request_key_has_1_to_255_characters CHECK (((key <> ''::text) AND (length(key) <= 255)))
);

--
-- Name: saved_view; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.saved_view (
    tenant holdfast.name,
    owner text,
    name holdfast.name NOT NULL,
    search text NOT NULL,
    columns text NOT NULL,
    reach text NOT NULL,
    saved_by text NOT NULL,
    saved_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT saved_view_columns_have_1000_characters_at_most CHECK ((length(columns) <= 1000)),
    CONSTRAINT saved_view_reach_is_known CHECK ((reach = ANY (ARRAY['1h'::text, '24h'::text, '7d'::text, '30d'::text, 'all'::text]))),
    CONSTRAINT saved_view_search_has_1000_characters_at_most CHECK ((length(search) <= 1000))
);

--
-- Name: schedule_run; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.schedule_run (
    schedule holdfast.name NOT NULL,
    slot timestamp with time zone NOT NULL,
    last_slot timestamp with time zone NOT NULL,
    times integer DEFAULT 1 NOT NULL,
    outcome text NOT NULL,
    at timestamp with time zone NOT NULL,
    job_id uuid,
    actor text NOT NULL,
    detail text,
    CONSTRAINT schedule_run_counts_its_times CHECK (((times >= 1) AND (last_slot >= slot))),
    CONSTRAINT schedule_run_names_its_job CHECK (((outcome <> ALL (ARRAY['fired'::text, 'manual'::text, 'overlap'::text, 'duplicate'::text])) OR (job_id IS NOT NULL))),
    CONSTRAINT schedule_run_outcome_is_known CHECK ((outcome = ANY (ARRAY['fired'::text, 'manual'::text, 'overlap'::text, 'missed'::text, 'duplicate'::text, 'refused'::text])))
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
-- Name: statistic; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.statistic (
    minute timestamp with time zone NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    enqueued bigint NOT NULL,
    started bigint NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    retried bigint NOT NULL,
    suspended bigint NOT NULL,
    waits bigint NOT NULL,
    waited interval NOT NULL,
    runs bigint NOT NULL,
    ran interval NOT NULL,
    undo_completed bigint DEFAULT 0 NOT NULL,
    undo_failed bigint DEFAULT 0 NOT NULL
)
WITH (fillfactor='50');

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
    importance text,
    CONSTRAINT step_ends_after_it_starts CHECK ((finished_at >= started_at)),
    CONSTRAINT step_importance_is_known CHECK ((importance = 'low'::text)),
    CONSTRAINT step_kind_is_known CHECK ((kind = ANY (ARRAY['step'::text, 'transaction'::text, 'sleep'::text, 'event'::text, 'jobs'::text, 'children'::text, 'approval'::text, 'undo'::text])))
);

--
-- Name: storage; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.storage (
    tenant text,
    jobs bigint NOT NULL,
    job_bytes bigint NOT NULL,
    payload_bytes bigint NOT NULL,
    result_bytes bigint NOT NULL,
    history_bytes bigint NOT NULL,
    share real NOT NULL,
    measured_at timestamp with time zone NOT NULL
);

--
-- Name: tally; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.tally (
    queue text NOT NULL,
    task text NOT NULL,
    status holdfast.job_status NOT NULL,
    entered bigint NOT NULL,
    departed bigint NOT NULL
)
WITH (fillfactor='50');

--
-- Name: tenant; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.tenant (
    name holdfast.name NOT NULL,
    weight smallint NOT NULL,
    set_at timestamp with time zone DEFAULT holdfast.clock() NOT NULL,
    CONSTRAINT weight_is_within_1000 CHECK (((weight >= 1) AND (weight <= 1000)))
);

--
-- Name: timing; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.timing (
    minute timestamp with time zone NOT NULL,
    queue text NOT NULL,
    task text NOT NULL,
    what text NOT NULL,
    bucket smallint NOT NULL,
    count bigint NOT NULL,
    CONSTRAINT timing_is_known CHECK ((what = ANY (ARRAY['wait'::text, 'run'::text, 'retries'::text])))
)
WITH (fillfactor='50');

--
-- Name: turn; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.turn (
    queue text NOT NULL,
    tenant text NOT NULL,
    used integer NOT NULL
)
WITH (fillfactor='50');

--
-- Name: upkeep; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.upkeep (
    only_one boolean DEFAULT true NOT NULL,
    ran_at timestamp with time zone,
    CONSTRAINT upkeep_only_one_check CHECK (only_one)
);

--
-- Name: usage; Type: TABLE; Schema: holdfast; Owner: -
--

CREATE TABLE holdfast.usage (
    day date NOT NULL,
    tenant text,
    task text NOT NULL,
    enqueued bigint NOT NULL,
    runs bigint NOT NULL,
    completed bigint NOT NULL,
    failed bigint NOT NULL,
    cancelled bigint NOT NULL,
    retried bigint NOT NULL,
    attempts bigint NOT NULL,
    run_seconds numeric(30,6) NOT NULL,
    external_seconds numeric(30,6) NOT NULL
)
WITH (fillfactor='50');

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
    schedules text[],
    wish text,
    wished_at timestamp with time zone,
    wished_by text,
    wished_for text,
    runs_on boolean DEFAULT false NOT NULL,
    CONSTRAINT lease_is_at_least_a_second CHECK ((lease >= '00:00:01'::interval)),
    CONSTRAINT worker_wish_is_known CHECK ((wish = ANY (ARRAY['quiet'::text, 'stop'::text]))),
    CONSTRAINT worker_wish_reason_has_500_characters_at_most CHECK ((length(wished_for) <= 500))
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
-- Name: alert_channel alert_channel_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.alert_channel
    ADD CONSTRAINT alert_channel_pkey PRIMARY KEY (name);

--
-- Name: alert alert_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.alert
    ADD CONSTRAINT alert_pkey PRIMARY KEY (id);

--
-- Name: alert_rule alert_rule_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.alert_rule
    ADD CONSTRAINT alert_rule_pkey PRIMARY KEY (name);

--
-- Name: alert_watch alert_watch_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.alert_watch
    ADD CONSTRAINT alert_watch_pkey PRIMARY KEY (only_one);

--
-- Name: api_key api_key_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.api_key
    ADD CONSTRAINT api_key_pkey PRIMARY KEY (id);

--
-- Name: approval_decision approval_decision_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.approval_decision
    ADD CONSTRAINT approval_decision_pkey PRIMARY KEY (approval_id, who, decision);

--
-- Name: approval approval_is_asked_once; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.approval
    ADD CONSTRAINT approval_is_asked_once UNIQUE (job_id, name);

--
-- Name: approval approval_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.approval
    ADD CONSTRAINT approval_pkey PRIMARY KEY (id);

--
-- Name: approver approver_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.approver
    ADD CONSTRAINT approver_pkey PRIMARY KEY (approval_id, name);

--
-- Name: attempt attempt_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (job_id, attempt);

--
-- Name: audit audit_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);

--
-- Name: callback_nonce callback_nonce_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.callback_nonce
    ADD CONSTRAINT callback_nonce_pkey PRIMARY KEY (job_id, nonce);

--
-- Name: channel channel_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.channel
    ADD CONSTRAINT channel_pkey PRIMARY KEY (name);

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
-- Name: device device_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.device
    ADD CONSTRAINT device_pkey PRIMARY KEY (digest);

--
-- Name: dispatch dispatch_is_one_an_attempt; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.dispatch
    ADD CONSTRAINT dispatch_is_one_an_attempt UNIQUE (job_id, attempt);

--
-- Name: dispatch dispatch_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.dispatch
    ADD CONSTRAINT dispatch_pkey PRIMARY KEY (id);

--
-- Name: duration duration_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.duration
    ADD CONSTRAINT duration_pkey PRIMARY KEY (queue, task, what, bucket);

--
-- Name: event event_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);

--
-- Name: event event_token_key; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.event
    ADD CONSTRAINT event_token_key UNIQUE (token);

--
-- Name: feed feed_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.feed
    ADD CONSTRAINT feed_pkey PRIMARY KEY (channel, id);

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
-- Name: log_part log_part_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.log_part
    ADD CONSTRAINT log_part_pkey PRIMARY KEY (job_id, attempt, first);

--
-- Name: login_try login_try_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.login_try
    ADD CONSTRAINT login_try_pkey PRIMARY KEY (bucket);

--
-- Name: notification notification_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.notification
    ADD CONSTRAINT notification_pkey PRIMARY KEY (id);

--
-- Name: operation_chunk operation_chunk_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.operation_chunk
    ADD CONSTRAINT operation_chunk_pkey PRIMARY KEY (operation_id, nth);

--
-- Name: operation operation_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.operation
    ADD CONSTRAINT operation_pkey PRIMARY KEY (id);

--
-- Name: person person_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.person
    ADD CONSTRAINT person_pkey PRIMARY KEY (name);

--
-- Name: progress progress_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.progress
    ADD CONSTRAINT progress_pkey PRIMARY KEY (job_id);

--
-- Name: projection projection_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.projection
    ADD CONSTRAINT projection_pkey PRIMARY KEY (only_one);

--
-- Name: published published_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.published
    ADD CONSTRAINT published_pkey PRIMARY KEY (id);

--
-- Name: queue queue_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.queue
    ADD CONSTRAINT queue_pkey PRIMARY KEY (name);

--
-- Name: quota quota_is_per_tenant_task_period_and_measure; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.quota
    ADD CONSTRAINT quota_is_per_tenant_task_period_and_measure UNIQUE NULLS NOT DISTINCT (tenant, task, period, measure);

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
-- Name: request request_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.request
    ADD CONSTRAINT request_pkey PRIMARY KEY (tenant, key);

--
-- Name: ring ring_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.ring
    ADD CONSTRAINT ring_pkey PRIMARY KEY (queue);

--
-- Name: saved_view saved_view_has_one_row_a_name; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.saved_view
    ADD CONSTRAINT saved_view_has_one_row_a_name UNIQUE NULLS NOT DISTINCT (tenant, owner, name);

--
-- Name: schedule schedule_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (name);

--
-- Name: schedule_run schedule_run_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.schedule_run
    ADD CONSTRAINT schedule_run_pkey PRIMARY KEY (schedule, slot);

--
-- Name: session session_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.session
    ADD CONSTRAINT session_pkey PRIMARY KEY (digest);

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
-- Name: statistic statistic_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.statistic
    ADD CONSTRAINT statistic_pkey PRIMARY KEY (minute, queue, task);

--
-- Name: step step_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.step
    ADD CONSTRAINT step_pkey PRIMARY KEY (job_id, name);

--
-- Name: storage storage_is_per_tenant; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.storage
    ADD CONSTRAINT storage_is_per_tenant UNIQUE NULLS NOT DISTINCT (tenant);

--
-- Name: tally tally_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.tally
    ADD CONSTRAINT tally_pkey PRIMARY KEY (queue, task, status);

--
-- Name: task task_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.task
    ADD CONSTRAINT task_pkey PRIMARY KEY (name);

--
-- Name: tenant tenant_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.tenant
    ADD CONSTRAINT tenant_pkey PRIMARY KEY (name);

--
-- Name: timing timing_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.timing
    ADD CONSTRAINT timing_pkey PRIMARY KEY (minute, what, task, queue, bucket);

--
-- Name: turn turn_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.turn
    ADD CONSTRAINT turn_pkey PRIMARY KEY (queue);

--
-- Name: upkeep upkeep_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.upkeep
    ADD CONSTRAINT upkeep_pkey PRIMARY KEY (only_one);

--
-- Name: usage usage_is_per_day_tenant_and_task; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.usage
    ADD CONSTRAINT usage_is_per_day_tenant_and_task UNIQUE NULLS NOT DISTINCT (day, tenant, task);

--
-- Name: wait wait_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.wait
    ADD CONSTRAINT wait_pkey PRIMARY KEY (job_id);

--
-- Name: webhook_delivery webhook_delivery_pkey; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.webhook_delivery
    ADD CONSTRAINT webhook_delivery_pkey PRIMARY KEY (id);

--
-- Name: webhook_delivery webhook_event_is_handled_once; Type: CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.webhook_delivery
    ADD CONSTRAINT webhook_event_is_handled_once UNIQUE (endpoint, event_id);

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
-- Name: activity_of_changes; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX activity_of_changes ON holdfast.activity USING btree (xid) WHERE (kind = ANY (ARRAY['job.reprioritised'::text, 'job.moved'::text]));

--
-- Name: activity_of_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX activity_of_job ON holdfast.activity USING btree (job_id, id);

--
-- Name: alert_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX alert_by_age ON holdfast.alert USING btree (closed_at) WHERE (closed_at IS NOT NULL);

--
-- Name: alert_is_open_once; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE UNIQUE INDEX alert_is_open_once ON holdfast.alert USING btree (rule, about) WHERE (closed_at IS NULL);

--
-- Name: api_key_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX api_key_by_age ON holdfast.api_key USING btree (created_at, id);

--
-- Name: api_key_of_name; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX api_key_of_name ON holdfast.api_key USING btree (name);

--
-- Name: approval_expiring; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX approval_expiring ON holdfast.approval USING btree (expires_at) WHERE ((decided_at IS NULL) AND (expires_at IS NOT NULL));

--
-- Name: approval_open; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX approval_open ON holdfast.approval USING btree (id DESC) WHERE (decided_at IS NULL);

--
-- Name: audit_of_target; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX audit_of_target ON holdfast.audit USING btree (target, id DESC) WHERE (target IS NOT NULL);

--
-- Name: audit_of_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX audit_of_tenant ON holdfast.audit USING btree (tenant, id DESC) WHERE (tenant IS NOT NULL);

--
-- Name: callback_nonce_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX callback_nonce_by_age ON holdfast.callback_nonce USING btree (at);

--
-- Name: channel_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX channel_by_age ON holdfast.channel USING btree (last_at);

--
-- Name: dependency_of; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX dependency_of ON holdfast.dependency USING btree (job_id, "position");

--
-- Name: device_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX device_by_age ON holdfast.device USING btree (seen_at);

--
-- Name: device_of_person; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX device_of_person ON holdfast.device USING btree (person);

--
-- Name: dispatch_due; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX dispatch_due ON holdfast.dispatch USING btree (next_try_at) WHERE (next_try_at IS NOT NULL);

--
-- Name: dispatch_out; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX dispatch_out ON holdfast.dispatch USING btree (job_id) WHERE (state = 'sent'::text);

--
-- Name: event_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX event_by_age ON holdfast.event USING btree (emitted_at);

--
-- Name: event_by_name; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX event_by_name ON holdfast.event USING btree (name, id);

--
-- Name: feed_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX feed_by_age ON holdfast.feed USING brin (at);

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
-- Name: job_failed_of_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_failed_of_tenant ON holdfast.job USING btree (tenant, task, finished_at) WHERE ((status = 'FAILED'::holdfast.job_status) AND (tenant IS NOT NULL));

--
-- Name: job_held; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_held ON holdfast.job USING btree (holder) WHERE (holder IS NOT NULL);

--
-- Name: job_history_by_xid; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_history_by_xid ON ONLY holdfast.job_history USING btree (xid);

--
-- Name: job_history_rest_xid_idx; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_history_rest_xid_idx ON holdfast.job_history_rest USING btree (xid);

--
-- Name: job_in_line; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_in_line ON holdfast.job USING btree (queue, COALESCE((tenant)::text, ''::text), claim_order, id) WHERE ((claim_order IS NOT NULL) AND (NOT suspect));

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
-- Name: job_undoing; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX job_undoing ON holdfast.job USING btree (compensates, id) WHERE ((compensates IS NOT NULL) AND (finished_at IS NULL) AND (held_by IS NOT NULL));

--
-- Name: left_over_in_order; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX left_over_in_order ON holdfast.left_over USING btree (at, job_id, seq);

--
-- Name: left_over_of_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX left_over_of_job ON holdfast.left_over USING btree (job_id);

--
-- Name: log_part_newest; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX log_part_newest ON holdfast.log_part USING btree (at);

--
-- Name: login_try_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX login_try_by_age ON holdfast.login_try USING btree (empty_at);

--
-- Name: notification_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX notification_by_age ON holdfast.notification USING btree (created_at);

--
-- Name: notification_by_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX notification_by_job ON holdfast.notification USING btree (job_id) WHERE (state = 'waiting'::text);

--
-- Name: notification_of_alert; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX notification_of_alert ON holdfast.notification USING btree (alert_id) WHERE (alert_id IS NOT NULL);

--
-- Name: notification_of_approval; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX notification_of_approval ON holdfast.notification USING btree (approval_id) WHERE (approval_id IS NOT NULL);

--
-- Name: notification_open; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX notification_open ON holdfast.notification USING btree (created_at) WHERE (state = ANY (ARRAY['waiting'::text, 'failed'::text]));

--
-- Name: operation_of_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX operation_of_tenant ON holdfast.operation USING btree (tenant, id DESC) WHERE (tenant IS NOT NULL);

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
-- Name: request_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX request_by_age ON holdfast.request USING btree (at);

--
-- Name: schedule_in_order; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX schedule_in_order ON holdfast.schedule USING btree (next_at NULLS FIRST) WHERE ((paused_at IS NULL) AND (withdrawn_at IS NULL));

--
-- Name: schedule_run_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX schedule_run_by_age ON holdfast.schedule_run USING btree (at);

--
-- Name: schedule_run_by_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX schedule_run_by_job ON holdfast.schedule_run USING btree (schedule, slot DESC) WHERE (outcome = ANY (ARRAY['fired'::text, 'manual'::text]));

--
-- Name: session_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX session_by_age ON holdfast.session USING btree (begun_at);

--
-- Name: session_of_person; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX session_of_person ON holdfast.session USING btree (person);

--
-- Name: task_paused; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX task_paused ON holdfast.task USING btree (name) WHERE (paused_at IS NOT NULL);

--
-- Name: usage_of_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX usage_of_tenant ON holdfast.usage USING btree (tenant, day);

--
-- Name: wait_for_event; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX wait_for_event ON holdfast.wait USING btree (event) WHERE (event IS NOT NULL);

--
-- Name: webhook_delivery_by_age; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX webhook_delivery_by_age ON holdfast.webhook_delivery USING btree (ended_at);

--
-- Name: webhook_delivery_failed; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX webhook_delivery_failed ON holdfast.webhook_delivery USING btree (id DESC) WHERE (status = 'failed'::text);

--
-- Name: webhook_delivery_of_endpoint; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX webhook_delivery_of_endpoint ON holdfast.webhook_delivery USING btree (endpoint, id DESC);

--
-- Name: webhook_delivery_of_job; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX webhook_delivery_of_job ON holdfast.webhook_delivery USING gin (jobs) WHERE (jobs <> '{}'::uuid[]);

--
-- Name: webhook_delivery_of_tenant; Type: INDEX; Schema: holdfast; Owner: -
--

CREATE INDEX webhook_delivery_of_tenant ON holdfast.webhook_delivery USING btree (tenant, id DESC) WHERE (tenant IS NOT NULL);

--
-- Name: job_history_rest_pkey; Type: INDEX ATTACH; Schema: holdfast; Owner: -
--

ALTER INDEX holdfast.job_history_pkey ATTACH PARTITION holdfast.job_history_rest_pkey;

--
-- Name: job_history_rest_xid_idx; Type: INDEX ATTACH; Schema: holdfast; Owner: -
--

ALTER INDEX holdfast.job_history_by_xid ATTACH PARTITION holdfast.job_history_rest_xid_idx;

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
-- Name: approval approval_is_decided_once; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approval_is_decided_once BEFORE UPDATE OF decided_at, decision, decided_by, decided_from, reason ON holdfast.approval FOR EACH ROW WHEN (((old.decided_at IS NOT NULL) AND (((((old.decided_at IS DISTINCT FROM new.decided_at) OR (old.decision IS DISTINCT FROM new.decision)) OR (old.decided_by IS DISTINCT FROM new.decided_by)) OR (old.decided_from IS DISTINCT FROM new.decided_from)) OR (old.reason IS DISTINCT FROM new.reason)))) EXECUTE FUNCTION holdfast.refuse('an approval is decided once: what was decided stays');

ALTER TABLE holdfast.approval ENABLE ALWAYS TRIGGER approval_is_decided_once;

--
-- Name: approval approval_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approval_is_kept BEFORE DELETE ON holdfast.approval FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('approvals are kept: DELETE is for retention only');

ALTER TABLE holdfast.approval ENABLE ALWAYS TRIGGER approval_is_kept;

--
-- Name: approval approval_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approval_is_not_truncated BEFORE TRUNCATE ON holdfast.approval FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('approvals are kept: TRUNCATE is refused');

ALTER TABLE holdfast.approval ENABLE ALWAYS TRIGGER approval_is_not_truncated;

--
-- Name: approval approval_question_is_immutable; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approval_question_is_immutable BEFORE UPDATE OF id, job_id, attempt, name, question, facts, approvers, quorum, requester, self_approval, bulk, bound_hash, asked_at, expires_at, on_expiry ON holdfast.approval FOR EACH ROW WHEN ((((((((((((((((old.id IS DISTINCT FROM new.id) OR (old.job_id IS DISTINCT FROM new.job_id)) OR (old.attempt IS DISTINCT FROM new.attempt)) OR ((old.name)::text IS DISTINCT FROM (new.name)::text)) OR (old.question IS DISTINCT FROM new.question)) OR ((old.facts)::text IS DISTINCT FROM (new.facts)::text)) OR (old.approvers IS DISTINCT FROM new.approvers)) OR (old.quorum IS DISTINCT FROM new.quorum)) OR (old.requester IS DISTINCT FROM new.requester)) OR (old.self_approval IS DISTINCT FROM new.self_approval)) OR (old.bulk IS DISTINCT FROM new.bulk)) OR (old.bound_hash IS DISTINCT FROM new.bound_hash)) OR (old.asked_at IS DISTINCT FROM new.asked_at)) OR (old.expires_at IS DISTINCT FROM new.expires_at)) OR (old.on_expiry IS DISTINCT FROM new.on_expiry))) EXECUTE FUNCTION holdfast.refuse('what an approval asks never changes: a decision is about what was asked');

ALTER TABLE holdfast.approval ENABLE ALWAYS TRIGGER approval_question_is_immutable;

--
-- Name: approver approver_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approver_is_kept BEFORE DELETE ON holdfast.approver FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('approvers are kept: DELETE is for retention only');

ALTER TABLE holdfast.approver ENABLE ALWAYS TRIGGER approver_is_kept;

--
-- Name: approver approver_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approver_is_not_truncated BEFORE TRUNCATE ON holdfast.approver FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('approvers are kept: TRUNCATE is refused');

ALTER TABLE holdfast.approver ENABLE ALWAYS TRIGGER approver_is_not_truncated;

--
-- Name: approval approvers_are_told; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER approvers_are_told AFTER INSERT ON holdfast.approval FOR EACH ROW EXECUTE FUNCTION holdfast.tell_approvers();

ALTER TABLE holdfast.approval ENABLE ALWAYS TRIGGER approvers_are_told;

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
-- Name: audit audit_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER audit_is_append_only BEFORE UPDATE ON holdfast.audit FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('the audit is append-only: UPDATE is refused');

ALTER TABLE holdfast.audit ENABLE ALWAYS TRIGGER audit_is_append_only;

--
-- Name: audit audit_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER audit_is_kept BEFORE DELETE ON holdfast.audit FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('the audit is append-only: DELETE is for retention only');

ALTER TABLE holdfast.audit ENABLE ALWAYS TRIGGER audit_is_kept;

--
-- Name: audit audit_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER audit_is_not_truncated BEFORE TRUNCATE ON holdfast.audit FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('the audit is append-only: TRUNCATE is refused');

ALTER TABLE holdfast.audit ENABLE ALWAYS TRIGGER audit_is_not_truncated;

--
-- Name: approval_decision decision_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER decision_is_append_only BEFORE UPDATE ON holdfast.approval_decision FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('decisions are append-only: UPDATE is refused');

ALTER TABLE holdfast.approval_decision ENABLE ALWAYS TRIGGER decision_is_append_only;

--
-- Name: approval_decision decision_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER decision_is_kept BEFORE DELETE ON holdfast.approval_decision FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('decisions are append-only: DELETE is for retention only');

ALTER TABLE holdfast.approval_decision ENABLE ALWAYS TRIGGER decision_is_kept;

--
-- Name: approval_decision decision_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER decision_is_not_truncated BEFORE TRUNCATE ON holdfast.approval_decision FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('decisions are append-only: TRUNCATE is refused');

ALTER TABLE holdfast.approval_decision ENABLE ALWAYS TRIGGER decision_is_not_truncated;

--
-- Name: feed feed_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER feed_is_append_only BEFORE UPDATE ON holdfast.feed FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('the feed is append-only: UPDATE is refused');

ALTER TABLE holdfast.feed ENABLE ALWAYS TRIGGER feed_is_append_only;

--
-- Name: feed feed_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER feed_is_kept BEFORE DELETE ON holdfast.feed FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('the feed is append-only: DELETE is for retention only');

ALTER TABLE holdfast.feed ENABLE ALWAYS TRIGGER feed_is_kept;

--
-- Name: feed feed_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER feed_is_not_truncated BEFORE TRUNCATE ON holdfast.feed FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('the feed is append-only: TRUNCATE is refused');

ALTER TABLE holdfast.feed ENABLE ALWAYS TRIGGER feed_is_not_truncated;

--
-- Name: job guard_move; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER guard_move BEFORE UPDATE ON holdfast.job FOR EACH ROW WHEN (((old.status <> new.status) AND ((holdfast.is_legal(old.status, new.status) AND (new.seq = (old.seq + 1)) AND (new.came_from = old.status) AND (new.chain <> old.chain) AND (new.updated_at >= old.updated_at) AND ((new.updated_at >= (holdfast.clock() - (clock_timestamp() - statement_timestamp()))) AND (new.updated_at <= holdfast.clock())) AND (old.key_held OR (NOT new.key_held)) AND
        CASE
            WHEN (new.status = 'RUNNING'::holdfast.job_status) THEN ((new.attempt = (old.attempt + 1)) AND (new.claim_id IS NOT NULL) AND (new.claim_id IS DISTINCT FROM old.claim_id) AND (new.ready_at = holdfast.ready_since(old.claim_order, (old.priority)::integer)) AND (new.started_at = new.updated_at) AND (new.finished_at IS NULL))
            ELSE ((new.attempt = old.attempt) AND (NOT (new.claim_id IS DISTINCT FROM old.claim_id)) AND (new.ready_at = old.ready_at) AND (new.started_at = old.started_at) AND (new.status = 'COMPLETED'::holdfast.job_status) AND (new.finished_at = new.updated_at) AND (NOT new.key_held))
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
-- Name: job link_birth; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER link_birth BEFORE INSERT ON holdfast.job FOR EACH ROW WHEN ((new.chain IS NULL)) EXECUTE FUNCTION holdfast.link_birth();

ALTER TABLE holdfast.job ENABLE ALWAYS TRIGGER link_birth;

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
-- Name: schedule_run schedule_run_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER schedule_run_is_append_only BEFORE UPDATE ON holdfast.schedule_run FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('runs of schedules are append-only: UPDATE is refused');

ALTER TABLE holdfast.schedule_run ENABLE ALWAYS TRIGGER schedule_run_is_append_only;

--
-- Name: schedule_run schedule_run_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER schedule_run_is_kept BEFORE DELETE ON holdfast.schedule_run FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('runs of schedules are append-only: DELETE is for retention only');

ALTER TABLE holdfast.schedule_run ENABLE ALWAYS TRIGGER schedule_run_is_kept;

--
-- Name: schedule_run schedule_run_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER schedule_run_is_not_truncated BEFORE TRUNCATE ON holdfast.schedule_run FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('runs of schedules are append-only: TRUNCATE is refused');

ALTER TABLE holdfast.schedule_run ENABLE ALWAYS TRIGGER schedule_run_is_not_truncated;

--
-- Name: step step_is_append_only; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_append_only BEFORE UPDATE ON holdfast.step FOR EACH ROW EXECUTE FUNCTION holdfast.refuse('saved steps are append-only: UPDATE is refused');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_append_only;

--
-- Name: step step_is_kept; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_kept BEFORE DELETE ON holdfast.step FOR EACH ROW EXECUTE FUNCTION holdfast.guard_removal('saved steps are append-only: DELETE is for retention only');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_kept;

--
-- Name: step step_is_not_truncated; Type: TRIGGER; Schema: holdfast; Owner: -
--

CREATE TRIGGER step_is_not_truncated BEFORE TRUNCATE ON holdfast.step FOR EACH STATEMENT EXECUTE FUNCTION holdfast.refuse('saved steps are append-only: TRUNCATE is refused');

ALTER TABLE holdfast.step ENABLE ALWAYS TRIGGER step_is_not_truncated;

--
-- Name: device device_person_fkey; Type: FK CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.device
    ADD CONSTRAINT device_person_fkey FOREIGN KEY (person) REFERENCES holdfast.person(name) ON DELETE CASCADE;

--
-- Name: operation_chunk operation_chunk_operation_id_fkey; Type: FK CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.operation_chunk
    ADD CONSTRAINT operation_chunk_operation_id_fkey FOREIGN KEY (operation_id) REFERENCES holdfast.operation(id) ON DELETE CASCADE;

--
-- Name: session session_person_fkey; Type: FK CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.session
    ADD CONSTRAINT session_person_fkey FOREIGN KEY (person) REFERENCES holdfast.person(name) ON DELETE CASCADE;

--
-- Name: sleeper sleeper_worker_id_fkey; Type: FK CONSTRAINT; Schema: holdfast; Owner: -
--

ALTER TABLE ONLY holdfast.sleeper
    ADD CONSTRAINT sleeper_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES holdfast.worker(id) ON DELETE CASCADE;

--
-- Name: activity; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.activity ENABLE ROW LEVEL SECURITY;

--
-- Name: alert; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.alert ENABLE ROW LEVEL SECURITY;

--
-- Name: alert_rule; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.alert_rule ENABLE ROW LEVEL SECURITY;

--
-- Name: activity all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.activity FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: alert all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.alert FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: alert_rule all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.alert_rule FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: api_key all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.api_key FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: approval all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.approval FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: approval_decision all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.approval_decision FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: approver all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.approver FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: attempt all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.attempt FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: audit all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.audit FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: callback_nonce all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.callback_nonce FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: channel all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.channel FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: checkpoint all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.checkpoint FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: dependency all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.dependency FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: device all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.device FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: dispatch all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.dispatch FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: duration all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.duration FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: event all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.event FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: feed all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.feed FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: job all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.job FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: job_history all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.job_history FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: job_history_rest all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.job_history_rest FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: left_over all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.left_over FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: log_part all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.log_part FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: login_try all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.login_try FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: notification all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.notification FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: operation all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.operation FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: operation_chunk all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.operation_chunk FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: person all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.person FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: progress all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.progress FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: published all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.published FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: quota all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.quota FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: rate_slot all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.rate_slot FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: rate_wait all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.rate_wait FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: request all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.request FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: ring all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.ring FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: saved_view all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.saved_view FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: schedule all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.schedule FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: schedule_run all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.schedule_run FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: session all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.session FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: slot all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.slot FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: statistic all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.statistic FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: step all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.step FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: storage all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.storage FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: tally all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.tally FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: tenant all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.tenant FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: timing all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.timing FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: turn all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.turn FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: usage all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.usage FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: wait all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.wait FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: webhook_delivery all_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows ON holdfast.webhook_delivery FOR SELECT TO holdfast_unbound USING (true);

--
-- Name: activity all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.activity FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: alert all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.alert FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: alert_rule all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.alert_rule FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: api_key all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.api_key FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: approval all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.approval FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: approval_decision all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.approval_decision FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: approver all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.approver FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: attempt all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.attempt FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: audit all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.audit FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: callback_nonce all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.callback_nonce FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: channel all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.channel FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: checkpoint all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.checkpoint FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: dependency all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.dependency FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: device all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.device FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: dispatch all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.dispatch FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: duration all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.duration FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: event all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.event FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: feed all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.feed FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: job all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.job FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: job_history all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.job_history FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: job_history_rest all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.job_history_rest FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: left_over all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.left_over FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: log_part all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.log_part FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: login_try all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.login_try FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: notification all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.notification FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: operation all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.operation FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: operation_chunk all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.operation_chunk FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: person all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.person FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: progress all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.progress FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: published all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.published FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: quota all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.quota FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: rate_slot all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.rate_slot FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: rate_wait all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.rate_wait FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: request all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.request FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: ring all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.ring FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: saved_view all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.saved_view FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: schedule all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.schedule FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: schedule_run all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.schedule_run FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: session all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.session FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: slot all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.slot FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: statistic all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.statistic FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: step all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.step FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: storage all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.storage FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: tally all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.tally FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: tenant all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.tenant FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: timing all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.timing FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: turn all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.turn FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: usage all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.usage FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: wait all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.wait FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: webhook_delivery all_rows_when_asked; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY all_rows_when_asked ON holdfast.webhook_delivery FOR SELECT TO holdfast_viewer USING ((holdfast.seen_tenant() = '*'::text));

--
-- Name: api_key; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.api_key ENABLE ROW LEVEL SECURITY;

--
-- Name: approval; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.approval ENABLE ROW LEVEL SECURITY;

--
-- Name: approval_decision; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.approval_decision ENABLE ROW LEVEL SECURITY;

--
-- Name: approver; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.approver ENABLE ROW LEVEL SECURITY;

--
-- Name: attempt; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.attempt ENABLE ROW LEVEL SECURITY;

--
-- Name: audit; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.audit ENABLE ROW LEVEL SECURITY;

--
-- Name: callback_nonce; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.callback_nonce ENABLE ROW LEVEL SECURITY;

--
-- Name: channel; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.channel ENABLE ROW LEVEL SECURITY;

--
-- Name: checkpoint; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.checkpoint ENABLE ROW LEVEL SECURITY;

--
-- Name: dependency; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.dependency ENABLE ROW LEVEL SECURITY;

--
-- Name: device; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.device ENABLE ROW LEVEL SECURITY;

--
-- Name: dispatch; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.dispatch ENABLE ROW LEVEL SECURITY;

--
-- Name: duration; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.duration ENABLE ROW LEVEL SECURITY;

--
-- Name: event; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.event ENABLE ROW LEVEL SECURITY;

--
-- Name: feed; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.feed ENABLE ROW LEVEL SECURITY;

--
-- Name: job; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.job ENABLE ROW LEVEL SECURITY;

--
-- Name: job_history; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.job_history ENABLE ROW LEVEL SECURITY;

--
-- Name: job_history_rest; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.job_history_rest ENABLE ROW LEVEL SECURITY;

--
-- Name: left_over; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.left_over ENABLE ROW LEVEL SECURITY;

--
-- Name: log_part; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.log_part ENABLE ROW LEVEL SECURITY;

--
-- Name: login_try; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.login_try ENABLE ROW LEVEL SECURITY;

--
-- Name: notification; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.notification ENABLE ROW LEVEL SECURITY;

--
-- Name: operation; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.operation ENABLE ROW LEVEL SECURITY;

--
-- Name: operation_chunk; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.operation_chunk ENABLE ROW LEVEL SECURITY;

--
-- Name: activity own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.activity FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = activity.job_id))));

--
-- Name: POLICY own_rows ON activity; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.activity IS 'exists (select from holdfast.job j where j.id = activity.job_id); * for holdfast_viewer';

--
-- Name: alert own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.alert FOR SELECT TO holdfast_api, holdfast_viewer USING ((((NOT starts_with(about, 'task:'::text)) AND (EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = alert.job_id)))) OR (EXISTS ( SELECT
   FROM holdfast.alert_rule r
  WHERE ((r.name)::text = (alert.rule)::text)))));

--
-- Name: POLICY own_rows ON alert; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.alert IS 'not starts_with(about, ''task:'') and exists (select from holdfast.job j where j.id = alert.job_id) or exists (select from holdfast.alert_rule r where r.name = alert.rule); * for holdfast_viewer';

--
-- Name: alert_rule own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.alert_rule FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON alert_rule; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.alert_rule IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: api_key own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.api_key FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON api_key; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.api_key IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: approval own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.approval FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = approval.job_id))));

--
-- Name: POLICY own_rows ON approval; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.approval IS 'exists (select from holdfast.job j where j.id = approval.job_id); * for holdfast_viewer';

--
-- Name: approval_decision own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.approval_decision FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.approval a
  WHERE (a.id = approval_decision.approval_id))));

--
-- Name: POLICY own_rows ON approval_decision; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.approval_decision IS 'exists (select from holdfast.approval a where a.id = approval_decision.approval_id); * for holdfast_viewer';

--
-- Name: approver own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.approver FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.approval a
  WHERE (a.id = approver.approval_id))));

--
-- Name: POLICY own_rows ON approver; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.approver IS 'exists (select from holdfast.approval a where a.id = approver.approval_id); * for holdfast_viewer';

--
-- Name: attempt own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.attempt FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = attempt.job_id))));

--
-- Name: POLICY own_rows ON attempt; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.attempt IS 'exists (select from holdfast.job j where j.id = attempt.job_id); * for holdfast_viewer';

--
-- Name: audit own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.audit FOR SELECT TO holdfast_api, holdfast_viewer USING ((tenant = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON audit; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.audit IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: callback_nonce own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.callback_nonce FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = callback_nonce.job_id))));

--
-- Name: POLICY own_rows ON callback_nonce; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.callback_nonce IS 'exists (select from holdfast.job j where j.id = callback_nonce.job_id); * for holdfast_viewer';

--
-- Name: channel own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.channel FOR SELECT TO holdfast_api, holdfast_viewer USING ((holdfast.channel_tenant(name) = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON channel; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.channel IS 'holdfast.channel_tenant(name) = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: checkpoint own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.checkpoint FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = checkpoint.job_id))));

--
-- Name: POLICY own_rows ON checkpoint; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.checkpoint IS 'exists (select from holdfast.job j where j.id = checkpoint.job_id); * for holdfast_viewer';

--
-- Name: dependency own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.dependency FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = dependency.job_id))));

--
-- Name: POLICY own_rows ON dependency; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.dependency IS 'exists (select from holdfast.job j where j.id = dependency.job_id); * for holdfast_viewer';

--
-- Name: device own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.device FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON device; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.device IS 'false; * for holdfast_viewer';

--
-- Name: dispatch own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.dispatch FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = dispatch.job_id))));

--
-- Name: POLICY own_rows ON dispatch; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.dispatch IS 'exists (select from holdfast.job j where j.id = dispatch.job_id); * for holdfast_viewer';

--
-- Name: duration own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.duration FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON duration; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.duration IS 'false; * for holdfast_viewer';

--
-- Name: event own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.event FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON event; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.event IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: feed own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.feed FOR SELECT TO holdfast_api, holdfast_viewer USING ((holdfast.channel_tenant(channel) = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON feed; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.feed IS 'holdfast.channel_tenant(channel) = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: job own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.job FOR SELECT TO holdfast_api, holdfast_viewer USING ((((tenant)::text = holdfast.seen_tenant()) AND (tenant IS NOT NULL)));

--
-- Name: POLICY own_rows ON job; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.job IS 'tenant = holdfast.seen_tenant() and tenant is not null; * for holdfast_viewer';

--
-- Name: job_history own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.job_history FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = job_history.job_id))));

--
-- Name: POLICY own_rows ON job_history; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.job_history IS 'exists (select from holdfast.job j where j.id = job_history.job_id); * for holdfast_viewer';

--
-- Name: job_history_rest own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.job_history_rest FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON job_history_rest; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.job_history_rest IS 'false; * for holdfast_viewer';

--
-- Name: left_over own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.left_over FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = left_over.job_id))));

--
-- Name: POLICY own_rows ON left_over; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.left_over IS 'exists (select from holdfast.job j where j.id = left_over.job_id); * for holdfast_viewer';

--
-- Name: log_part own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.log_part FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = log_part.job_id))));

--
-- Name: POLICY own_rows ON log_part; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.log_part IS 'exists (select from holdfast.job j where j.id = log_part.job_id); * for holdfast_viewer';

--
-- Name: login_try own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.login_try FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON login_try; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.login_try IS 'false; * for holdfast_viewer';

--
-- Name: notification own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.notification FOR SELECT TO holdfast_api, holdfast_viewer USING (((EXISTS ( SELECT
   FROM holdfast.alert a
  WHERE (a.id = notification.alert_id))) OR (EXISTS ( SELECT
   FROM holdfast.approval a
  WHERE (a.id = notification.approval_id)))));

--
-- Name: POLICY own_rows ON notification; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.notification IS 'exists (select from holdfast.alert a where a.id = notification.alert_id) or exists (select from holdfast.approval a where a.id = notification.approval_id); * for holdfast_viewer';

--
-- Name: operation own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.operation FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON operation; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.operation IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: operation_chunk own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.operation_chunk FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.operation o
  WHERE (o.id = operation_chunk.operation_id))));

--
-- Name: POLICY own_rows ON operation_chunk; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.operation_chunk IS 'exists (select from holdfast.operation o where o.id = operation_chunk.operation_id); * for holdfast_viewer';

--
-- Name: person own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.person FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON person; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.person IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: progress own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.progress FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = progress.job_id))));

--
-- Name: POLICY own_rows ON progress; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.progress IS 'exists (select from holdfast.job j where j.id = progress.job_id); * for holdfast_viewer';

--
-- Name: published own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.published FOR SELECT TO holdfast_api, holdfast_viewer USING ((holdfast.channel_tenant(channel) = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON published; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.published IS 'holdfast.channel_tenant(channel) = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: quota own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.quota FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON quota; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.quota IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: rate_slot own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.rate_slot FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = rate_slot.job_id))));

--
-- Name: POLICY own_rows ON rate_slot; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.rate_slot IS 'exists (select from holdfast.job j where j.id = rate_slot.job_id); * for holdfast_viewer';

--
-- Name: rate_wait own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.rate_wait FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON rate_wait; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.rate_wait IS 'false; * for holdfast_viewer';

--
-- Name: request own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.request FOR SELECT TO holdfast_api, holdfast_viewer USING ((tenant = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON request; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.request IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: ring own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.ring FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON ring; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.ring IS 'false; * for holdfast_viewer';

--
-- Name: saved_view own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.saved_view FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON saved_view; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.saved_view IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: schedule own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.schedule FOR SELECT TO holdfast_api, holdfast_viewer USING ((((options)::jsonb ->> 'tenant'::text) = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON schedule; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.schedule IS 'options ->> ''tenant'' = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: schedule_run own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.schedule_run FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.schedule s
  WHERE ((s.name)::text = (schedule_run.schedule)::text))));

--
-- Name: POLICY own_rows ON schedule_run; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.schedule_run IS 'exists (select from holdfast.schedule s where s.name = schedule_run.schedule); * for holdfast_viewer';

--
-- Name: session own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.session FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON session; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.session IS 'false; * for holdfast_viewer';

--
-- Name: slot own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.slot FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = slot.job_id))));

--
-- Name: POLICY own_rows ON slot; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.slot IS 'exists (select from holdfast.job j where j.id = slot.job_id); * for holdfast_viewer';

--
-- Name: statistic own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.statistic FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON statistic; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.statistic IS 'false; * for holdfast_viewer';

--
-- Name: step own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.step FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = step.job_id))));

--
-- Name: POLICY own_rows ON step; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.step IS 'exists (select from holdfast.job j where j.id = step.job_id); * for holdfast_viewer';

--
-- Name: storage own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.storage FOR SELECT TO holdfast_api, holdfast_viewer USING ((tenant = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON storage; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.storage IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: tally own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.tally FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON tally; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.tally IS 'false; * for holdfast_viewer';

--
-- Name: tenant own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.tenant FOR SELECT TO holdfast_api, holdfast_viewer USING (((name)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON tenant; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.tenant IS 'name = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: timing own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.timing FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON timing; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.timing IS 'false; * for holdfast_viewer';

--
-- Name: turn own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.turn FOR SELECT TO holdfast_api, holdfast_viewer USING (false);

--
-- Name: POLICY own_rows ON turn; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.turn IS 'false; * for holdfast_viewer';

--
-- Name: usage own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.usage FOR SELECT TO holdfast_api, holdfast_viewer USING ((tenant = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON usage; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.usage IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: wait own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.wait FOR SELECT TO holdfast_api, holdfast_viewer USING ((EXISTS ( SELECT
   FROM holdfast.job j
  WHERE ((j.id)::uuid = wait.job_id))));

--
-- Name: POLICY own_rows ON wait; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.wait IS 'exists (select from holdfast.job j where j.id = wait.job_id); * for holdfast_viewer';

--
-- Name: webhook_delivery own_rows; Type: POLICY; Schema: holdfast; Owner: -
--

CREATE POLICY own_rows ON holdfast.webhook_delivery FOR SELECT TO holdfast_api, holdfast_viewer USING (((tenant)::text = holdfast.seen_tenant()));

--
-- Name: POLICY own_rows ON webhook_delivery; Type: COMMENT; Schema: holdfast; Owner: -
--

COMMENT ON POLICY own_rows ON holdfast.webhook_delivery IS 'tenant = holdfast.seen_tenant(); * for holdfast_viewer';

--
-- Name: person; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.person ENABLE ROW LEVEL SECURITY;

--
-- Name: progress; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.progress ENABLE ROW LEVEL SECURITY;

--
-- Name: published; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.published ENABLE ROW LEVEL SECURITY;

--
-- Name: quota; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.quota ENABLE ROW LEVEL SECURITY;

--
-- Name: rate_slot; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.rate_slot ENABLE ROW LEVEL SECURITY;

--
-- Name: rate_wait; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.rate_wait ENABLE ROW LEVEL SECURITY;

--
-- Name: request; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.request ENABLE ROW LEVEL SECURITY;

--
-- Name: ring; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.ring ENABLE ROW LEVEL SECURITY;

--
-- Name: saved_view; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.saved_view ENABLE ROW LEVEL SECURITY;

--
-- Name: schedule; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.schedule ENABLE ROW LEVEL SECURITY;

--
-- Name: schedule_run; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.schedule_run ENABLE ROW LEVEL SECURITY;

--
-- Name: session; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.session ENABLE ROW LEVEL SECURITY;

--
-- Name: slot; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.slot ENABLE ROW LEVEL SECURITY;

--
-- Name: statistic; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.statistic ENABLE ROW LEVEL SECURITY;

--
-- Name: step; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.step ENABLE ROW LEVEL SECURITY;

--
-- Name: storage; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.storage ENABLE ROW LEVEL SECURITY;

--
-- Name: tally; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.tally ENABLE ROW LEVEL SECURITY;

--
-- Name: tenant; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.tenant ENABLE ROW LEVEL SECURITY;

--
-- Name: timing; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.timing ENABLE ROW LEVEL SECURITY;

--
-- Name: turn; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.turn ENABLE ROW LEVEL SECURITY;

--
-- Name: usage; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.usage ENABLE ROW LEVEL SECURITY;

--
-- Name: wait; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.wait ENABLE ROW LEVEL SECURITY;

--
-- Name: webhook_delivery; Type: ROW SECURITY; Schema: holdfast; Owner: -
--

ALTER TABLE holdfast.webhook_delivery ENABLE ROW LEVEL SECURITY;

--
-- Name: SCHEMA holdfast; Type: ACL; Schema: -; Owner: -
--

GRANT USAGE ON SCHEMA holdfast TO holdfast_producer;
GRANT USAGE ON SCHEMA holdfast TO holdfast_worker;
GRANT USAGE ON SCHEMA holdfast TO holdfast_api;
GRANT USAGE ON SCHEMA holdfast TO holdfast_viewer;
GRANT USAGE ON SCHEMA holdfast TO holdfast_maint;
GRANT USAGE ON SCHEMA holdfast TO holdfast_unbound;

--
-- Name: FUNCTION acknowledge_stop(p_worker uuid, p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.acknowledge_stop(p_worker uuid, p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.acknowledge_stop(p_worker uuid, p_ids uuid[]) TO holdfast_worker;

--
-- Name: FUNCTION act_as_worker(p_worker uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.act_as_worker(p_worker uuid) FROM PUBLIC;

--
-- Name: FUNCTION act_for_endpoint(p_endpoint text, p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.act_for_endpoint(p_endpoint text, p_tenant text) FROM PUBLIC;

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
GRANT ALL ON FUNCTION holdfast.clock() TO holdfast_unbound;

--
-- Name: FUNCTION new_id(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.new_id() FROM PUBLIC;

--
-- Name: TABLE job; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job TO holdfast_api;
GRANT SELECT ON TABLE holdfast.job TO holdfast_unbound;

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
-- Name: TABLE projection; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.projection TO holdfast_api;
GRANT SELECT ON TABLE holdfast.projection TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.projection TO holdfast_unbound;

--
-- Name: FUNCTION adopt_restored(p_cursor holdfast.projection); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.adopt_restored(p_cursor holdfast.projection) FROM PUBLIC;

--
-- Name: FUNCTION apply_retention(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.apply_retention(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION approval_error(p_type text, p_message text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.approval_error(p_type text, p_message text) FROM PUBLIC;

--
-- Name: FUNCTION approve_together(p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text, p_origin text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.approve_together(p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text, p_origin text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.approve_together(p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text, p_origin text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.approve_together(p_approvals uuid[], p_seen_hashes text[], p_actor text, p_reason text, p_origin text) TO holdfast_unbound;

--
-- Name: FUNCTION are_strings(p_list jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.are_strings(p_list jsonb) FROM PUBLIC;

--
-- Name: FUNCTION as_snapshot(p_xmax bigint, p_running bigint[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.as_snapshot(p_xmax bigint, p_running bigint[]) FROM PUBLIC;

--
-- Name: FUNCTION ask(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_gate jsonb, p_logs jsonb, OUT approval_id uuid, OUT decision text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ask(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_gate jsonb, p_logs jsonb, OUT approval_id uuid, OUT decision text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.ask(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_gate jsonb, p_logs jsonb, OUT approval_id uuid, OUT decision text) TO holdfast_worker;

--
-- Name: FUNCTION await_rate(p_key text, p_period interval, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.await_rate(p_key text, p_period interval, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION awaits_projection(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.awaits_projection(p_job uuid) FROM PUBLIC;

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
-- Name: FUNCTION begin_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid, p_token_hash bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid, p_token_hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid, p_token_hash bytea) TO holdfast_worker;

--
-- Name: FUNCTION begin_operation(p_id uuid, p_tenant text, p_action text, p_priority integer, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_operation(p_id uuid, p_tenant text, p_action text, p_priority integer, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_operation(p_id uuid, p_tenant text, p_action text, p_priority integer, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.begin_operation(p_id uuid, p_tenant text, p_action text, p_priority integer, p_queue text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION begin_replay(p_id uuid, p_actor text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_replay(p_id uuid, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_replay(p_id uuid, p_actor text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.begin_replay(p_id uuid, p_actor text) TO holdfast_unbound;

--
-- Name: FUNCTION begin_request(p_tenant text, p_key text, p_digest bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_request(p_tenant text, p_key text, p_digest bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_request(p_tenant text, p_key text, p_digest bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.begin_request(p_tenant text, p_key text, p_digest bytea) TO holdfast_unbound;

--
-- Name: FUNCTION begin_session(p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text, p_buckets text[], p_tries integer[], p_periods interval[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_session(p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text, p_buckets text[], p_tries integer[], p_periods interval[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_session(p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text, p_buckets text[], p_tries integer[], p_periods interval[]) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.begin_session(p_name text, p_password text, p_new_password text, p_digest bytea, p_instead_of bytea, p_device bytea, p_address text, p_buckets text[], p_tries integer[], p_periods interval[]) TO holdfast_unbound;

--
-- Name: TABLE approval; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.approval TO holdfast_api;
GRANT SELECT ON TABLE holdfast.approval TO holdfast_unbound;

--
-- Name: FUNCTION begin_waiting(p_job holdfast.job, p_gate holdfast.approval, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_waiting(p_job holdfast.job, p_gate holdfast.approval, p_logs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION begin_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.begin_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.begin_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.begin_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_status text, p_body bytea) TO holdfast_unbound;

--
-- Name: FUNCTION bind_to_tenants(p_table regclass, p_own text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bind_to_tenants(p_table regclass, p_own text) FROM PUBLIC;

--
-- Name: FUNCTION bound_hash(p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bound_hash(p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.bound_hash(p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.bound_hash(p_job uuid, p_payload jsonb, p_name text, p_question text, p_facts jsonb, p_approvers text[], p_quorum integer) TO holdfast_unbound;

--
-- Name: FUNCTION bound_tenant(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bound_tenant() FROM PUBLIC;

--
-- Name: FUNCTION broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.broken_rule(p_status holdfast.job_status, p_holder uuid, p_claim_order timestamp with time zone, p_due_at timestamp with time zone, p_held_by text, p_deadline_at timestamp with time zone, p_finished_at timestamp with time zone, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count integer, p_max_retries integer, p_key text, p_key_scope text, p_key_held boolean) TO holdfast_unbound;

--
-- Name: FUNCTION bucket_floor(p_bucket integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bucket_floor(p_bucket integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.bucket_floor(p_bucket integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.bucket_floor(p_bucket integer) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.bucket_floor(p_bucket integer) TO holdfast_unbound;

--
-- Name: FUNCTION bucket_middle(p_bucket integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bucket_middle(p_bucket integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.bucket_middle(p_bucket integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.bucket_middle(p_bucket integer) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.bucket_middle(p_bucket integer) TO holdfast_unbound;

--
-- Name: FUNCTION bucket_of(p_span interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.bucket_of(p_span interval) FROM PUBLIC;

--
-- Name: FUNCTION callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.callback(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_action text, p_nonce text, p_body_hash bytea, p_data jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION can_step_out(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.can_step_out() FROM PUBLIC;

--
-- Name: FUNCTION cancel(p_id uuid, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.cancel(p_id uuid, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.cancel(p_id uuid, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.cancel(p_id uuid, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: TABLE alert_rule; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.alert_rule TO holdfast_api;
GRANT SELECT ON TABLE holdfast.alert_rule TO holdfast_unbound;

--
-- Name: FUNCTION causes(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.causes(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION channel_tenant(p_channel text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.channel_tenant(p_channel text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.channel_tenant(p_channel text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.channel_tenant(p_channel text) TO holdfast_unbound;

--
-- Name: FUNCTION check_after(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_after(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION check_priority(p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_priority(p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION check_queue(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_queue(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION check_run(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_run(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.check_run(p_job uuid) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.check_run(p_job uuid) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.check_run(p_job uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.check_run(p_job uuid) TO holdfast_unbound;

--
-- Name: FUNCTION check_runs(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_runs(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION check_voter(p_actor text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_voter(p_actor text) FROM PUBLIC;

--
-- Name: FUNCTION check_words(p_decision text, p_reason text, p_origin text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.check_words(p_decision text, p_reason text, p_origin text) FROM PUBLIC;

--
-- Name: FUNCTION claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.claim(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer, p_after timestamp with time zone) TO holdfast_worker;

--
-- Name: FUNCTION claim_by_slots(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.claim_by_slots(p_worker uuid, p_claim_id uuid, p_queue text, p_tasks text[], p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[], p_runs_on boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[], p_runs_on boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.claim_suspect(p_worker uuid, p_claim_id uuid, p_queues text[], p_tasks text[], p_runs_on boolean) TO holdfast_worker;

--
-- Name: FUNCTION clear_closed(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.clear_closed(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION clear_line(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.clear_line(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION close_alerts(p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.close_alerts(p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION close_approvals(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.close_approvals(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION closed_by(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.closed_by(p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION closed_detail(p_gate holdfast.approval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.closed_detail(p_gate holdfast.approval) FROM PUBLIC;

--
-- Name: FUNCTION cluster(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.cluster() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.cluster() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.cluster() TO holdfast_unbound;

--
-- Name: FUNCTION compensate(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.compensate(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.complete(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_results text[], p_logs text[]) TO holdfast_worker;

--
-- Name: FUNCTION complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.complete_here(p_job uuid, p_attempt integer, p_claim_id uuid, p_result jsonb, p_logs jsonb) TO holdfast_worker;

--
-- Name: TABLE dispatch; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.dispatch TO holdfast_api;
GRANT SELECT ON TABLE holdfast.dispatch TO holdfast_unbound;

--
-- Name: FUNCTION complete_run(p_job holdfast.job, p_run holdfast.dispatch, p_result jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.complete_run(p_job holdfast.job, p_run holdfast.dispatch, p_result jsonb) FROM PUBLIC;

--
-- Name: FUNCTION conclude(p_gate holdfast.approval, p_decision text, p_who text, p_origin text, p_reason text, p_error jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.conclude(p_gate holdfast.approval, p_decision text, p_who text, p_origin text, p_reason text, p_error jsonb) FROM PUBLIC;

--
-- Name: FUNCTION copies_payload_of(p_job uuid, p_origin uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.copies_payload_of(p_job uuid, p_origin uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.copies_payload_of(p_job uuid, p_origin uuid) TO holdfast_worker;

--
-- Name: FUNCTION count_refusal(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.count_refusal() FROM PUBLIC;

--
-- Name: FUNCTION count_running(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.count_running(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION create_key(p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamp with time zone, p_actor text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.create_key(p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamp with time zone, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.create_key(p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamp with time zone, p_actor text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.create_key(p_id text, p_digest bytea, p_name text, p_tenant text, p_scopes text[], p_expires_at timestamp with time zone, p_actor text) TO holdfast_unbound;

--
-- Name: FUNCTION create_operation(p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.create_operation(p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.create_operation(p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.create_operation(p_id uuid, p_tenant text, p_action text, p_search text, p_actor text, p_reason text, p_jobs uuid[], p_declared jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.create_person(p_name text, p_password text, p_role text, p_tenant text, p_actor text) TO holdfast_unbound;

--
-- Name: FUNCTION create_schedule(p_definition jsonb, p_replace boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.create_schedule(p_definition jsonb, p_replace boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.create_schedule(p_definition jsonb, p_replace boolean) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.create_schedule(p_definition jsonb, p_replace boolean) TO holdfast_unbound;

--
-- Name: FUNCTION decide(p_approval uuid, p_actor text, p_decision text, p_reason text, p_origin text, p_seen_hash text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.decide(p_approval uuid, p_actor text, p_decision text, p_reason text, p_origin text, p_seen_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.decide(p_approval uuid, p_actor text, p_decision text, p_reason text, p_origin text, p_seen_hash text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.decide(p_approval uuid, p_actor text, p_decision text, p_reason text, p_origin text, p_seen_hash text) TO holdfast_unbound;

--
-- Name: FUNCTION decide_by_token(p_approval uuid, p_token_hash bytea, p_decision text, p_reason text, p_origin text, p_seen_hash text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.decide_by_token(p_approval uuid, p_token_hash bytea, p_decision text, p_reason text, p_origin text, p_seen_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.decide_by_token(p_approval uuid, p_token_hash bytea, p_decision text, p_reason text, p_origin text, p_seen_hash text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.decide_by_token(p_approval uuid, p_token_hash bytea, p_decision text, p_reason text, p_origin text, p_seen_hash text) TO holdfast_unbound;

--
-- Name: FUNCTION decision_of(p_gate holdfast.approval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.decision_of(p_gate holdfast.approval) FROM PUBLIC;

--
-- Name: FUNCTION declare_tasks(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.declare_tasks(p_tasks jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION definitions(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.definitions(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION delete_job(p_id uuid, p_actor text, p_reason text, p_address text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.delete_job(p_id uuid, p_actor text, p_reason text, p_address text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.delete_job(p_id uuid, p_actor text, p_reason text, p_address text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.delete_job(p_id uuid, p_actor text, p_reason text, p_address text) TO holdfast_unbound;

--
-- Name: FUNCTION delete_schedule(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.delete_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.delete_schedule(p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.delete_schedule(p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION delete_view(p_tenant text, p_owner text, p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.delete_view(p_tenant text, p_owner text, p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.delete_view(p_tenant text, p_owner text, p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.delete_view(p_tenant text, p_owner text, p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION disable_person(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.disable_person(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.disable_person(p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.disable_person(p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION dispatch_cancelled(p_id uuid, p_has_ended boolean, p_error jsonb, p_again_in double precision); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.dispatch_cancelled(p_id uuid, p_has_ended boolean, p_error jsonb, p_again_in double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.dispatch_cancelled(p_id uuid, p_has_ended boolean, p_error jsonb, p_again_in double precision) TO holdfast_worker;

--
-- Name: FUNCTION dispatch_failed(p_id uuid, p_try integer, p_error jsonb, p_permanent boolean, p_doubtful boolean, p_delay double precision, p_most_tries integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.dispatch_failed(p_id uuid, p_try integer, p_error jsonb, p_permanent boolean, p_doubtful boolean, p_delay double precision, p_most_tries integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.dispatch_failed(p_id uuid, p_try integer, p_error jsonb, p_permanent boolean, p_doubtful boolean, p_delay double precision, p_most_tries integer) TO holdfast_worker;

--
-- Name: FUNCTION dispatch_sent(p_id uuid, p_run_ref text, p_run_url text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.dispatch_sent(p_id uuid, p_run_ref text, p_run_url text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.dispatch_sent(p_id uuid, p_run_ref text, p_run_url text) TO holdfast_worker;

--
-- Name: FUNCTION drop_empty_history_partitions(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.drop_empty_history_partitions() FROM PUBLIC;

--
-- Name: FUNCTION due_of(p_claim_order timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.due_of(p_claim_order timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION due_schedules(p_limit integer, p_except text[], OUT due jsonb, OUT next_in double precision); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.due_schedules(p_limit integer, p_except text[], OUT due jsonb, OUT next_in double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.due_schedules(p_limit integer, p_except text[], OUT due jsonb, OUT next_in double precision) TO holdfast_worker;

--
-- Name: FUNCTION edit_schedule(p_name text, p_changes jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.edit_schedule(p_name text, p_changes jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.edit_schedule(p_name text, p_changes jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.edit_schedule(p_name text, p_changes jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.emit(p_name text, p_payload jsonb, p_tenant text, p_actor text, p_token uuid) TO holdfast_unbound;

--
-- Name: FUNCTION enable_person(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enable_person(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enable_person(p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.enable_person(p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION end_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.end_delivery(p_job uuid, p_attempt integer, p_claim_id uuid, p_notification uuid) TO holdfast_worker;

--
-- Name: FUNCTION end_dispatch(p_id uuid, p_stop boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_dispatch(p_id uuid, p_stop boolean) FROM PUBLIC;

--
-- Name: FUNCTION end_of_slice(p_from bigint, p_to bigint, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_of_slice(p_from bigint, p_to bigint, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION end_overdue(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_overdue(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION end_replay(p_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_replay(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.end_replay(p_id uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.end_replay(p_id uuid) TO holdfast_unbound;

--
-- Name: FUNCTION end_session(p_digest bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.end_session(p_digest bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.end_session(p_digest bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.end_session(p_digest bytea) TO holdfast_unbound;

--
-- Name: FUNCTION enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.enqueue(p_task text, p_payload jsonb, p_queue text, p_priority integer, p_run_at timestamp with time zone, p_run_in interval, p_key text, p_key_scope text, p_on_conflict text, p_tenant text, p_subject text, p_tags jsonb, p_label text, p_metadata jsonb, p_requested_by text, p_id uuid, p_trace_parent text, p_max_retries integer, p_timeout interval) TO holdfast_unbound;

--
-- Name: FUNCTION enqueue_children(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_jobs jsonb, p_declared jsonb, p_importance text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enqueue_children(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_jobs jsonb, p_declared jsonb, p_importance text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enqueue_children(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_jobs jsonb, p_declared jsonb, p_importance text) TO holdfast_worker;

--
-- Name: FUNCTION enqueue_many(p_jobs jsonb, p_declared jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.enqueue_many(p_jobs jsonb, p_declared jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION ensure_history_partition(p_month timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ensure_history_partition(p_month timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION ensure_history_partitions(p_months_ahead integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ensure_history_partitions(p_months_ahead integer) FROM PUBLIC;

--
-- Name: FUNCTION enter(p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.enter(p_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_maint;
GRANT ALL ON FUNCTION holdfast.enter(p_tenant text) TO holdfast_unbound;

--
-- Name: FUNCTION error_class(p_metadata jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.error_class(p_metadata jsonb) FROM PUBLIC;

--
-- Name: FUNCTION evaluate_alerts(p_every interval, OUT opened bigint, OUT closed bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.evaluate_alerts(p_every interval, OUT opened bigint, OUT closed bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.evaluate_alerts(p_every interval, OUT opened bigint, OUT closed bigint) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.evaluate_alerts(p_every interval, OUT opened bigint, OUT closed bigint) TO holdfast_maint;

--
-- Name: FUNCTION event_kind(p_status holdfast.job_status); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.event_kind(p_status holdfast.job_status) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.event_kind(p_status holdfast.job_status) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.event_kind(p_status holdfast.job_status) TO holdfast_unbound;

--
-- Name: FUNCTION expire_approvals(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.expire_approvals(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb, p_compensates uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.extras_of(p_label text, p_requested_by text, p_trace_parent text, p_key text, p_metadata jsonb, p_compensates uuid) FROM PUBLIC;

--
-- Name: FUNCTION fail_run(p_job holdfast.job, p_run holdfast.dispatch, p_error jsonb, p_reason text, p_actor text, p_stop boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fail_run(p_job holdfast.job, p_run holdfast.dispatch, p_error jsonb, p_reason text, p_actor text, p_stop boolean) FROM PUBLIC;

--
-- Name: FUNCTION fail_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fail_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.fail_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.fail_webhook(p_id uuid, p_endpoint text, p_event_id text, p_type text, p_tenant text, p_body bytea, p_error text) TO holdfast_unbound;

--
-- Name: FUNCTION failed_compensations(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.failed_compensations(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION fall_asleep(p_worker uuid, p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fall_asleep(p_worker uuid, p_queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.fall_asleep(p_worker uuid, p_queues text[]) TO holdfast_worker;

--
-- Name: FUNCTION filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.filled_key(p_template text, p_payload jsonb, p_tenant text, p_subject text) TO holdfast_unbound;

--
-- Name: FUNCTION find_key(p_id text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.find_key(p_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.find_key(p_id text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.find_key(p_id text) TO holdfast_unbound;

--
-- Name: FUNCTION find_person(p_name text, p_device bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.find_person(p_name text, p_device bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.find_person(p_name text, p_device bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.find_person(p_name text, p_device bytea) TO holdfast_unbound;

--
-- Name: TABLE schedule; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.schedule TO holdfast_api;
GRANT SELECT ON TABLE holdfast.schedule TO holdfast_unbound;

--
-- Name: FUNCTION find_schedule(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.find_schedule(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION find_session(p_digest bytea, p_is_request boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.find_session(p_digest bytea, p_is_request boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.find_session(p_digest bytea, p_is_request boolean) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.find_session(p_digest bytea, p_is_request boolean) TO holdfast_unbound;

--
-- Name: FUNCTION fire_schedule(p_name text, p_version integer, p_settled_to timestamp with time zone, p_slots timestamp with time zone[], p_missed timestamp with time zone[], p_times integer, p_next timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fire_schedule(p_name text, p_version integer, p_settled_to timestamp with time zone, p_slots timestamp with time zone[], p_missed timestamp with time zone[], p_times integer, p_next timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.fire_schedule(p_name text, p_version integer, p_settled_to timestamp with time zone, p_slots timestamp with time zone[], p_missed timestamp with time zone[], p_times integer, p_next timestamp with time zone) TO holdfast_worker;

--
-- Name: FUNCTION fire_slot(p_schedule holdfast.schedule, p_slot timestamp with time zone, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.fire_slot(p_schedule holdfast.schedule, p_slot timestamp with time zone, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION flag_share(p_flag text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.flag_share(p_flag text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.flag_share(p_flag text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.flag_share(p_flag text) TO holdfast_unbound;

--
-- Name: FUNCTION flags_from_environment(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.flags_from_environment(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION follow_channel(p_channel text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.follow_channel(p_channel text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.follow_channel(p_channel text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.follow_channel(p_channel text) TO holdfast_unbound;

--
-- Name: FUNCTION follow_job(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.follow_job(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.follow_job(p_job uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.follow_job(p_job uuid) TO holdfast_unbound;

--
-- Name: FUNCTION follow_up(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.follow_up(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION forget_alerts(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_alerts(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION forget_log_parts(p_ids uuid[], p_attempts integer[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_log_parts(p_ids uuid[], p_attempts integer[]) FROM PUBLIC;

--
-- Name: FUNCTION forget_nonces(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_nonces(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION forget_projected(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_projected(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION forget_schedule_runs(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_schedule_runs(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION forget_sessions(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_sessions() FROM PUBLIC;

--
-- Name: FUNCTION forget_webhooks(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.forget_webhooks(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION free_rate_slot(p_key text, p_most integer, p_period interval, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.free_rate_slot(p_key text, p_most integer, p_period interval, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION free_slot(p_key text, p_most integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.free_slot(p_key text, p_most integer) FROM PUBLIC;

--
-- Name: FUNCTION further_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.further_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

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
-- Name: FUNCTION hand_over(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_inputs jsonb, p_heartbeat_limit double precision, p_run_limit double precision, p_retry_in double precision, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hand_over(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_inputs jsonb, p_heartbeat_limit double precision, p_run_limit double precision, p_retry_in double precision, p_logs jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.hand_over(p_job uuid, p_attempt integer, p_claim_id uuid, p_executor text, p_inputs jsonb, p_heartbeat_limit double precision, p_run_limit double precision, p_retry_in double precision, p_logs jsonb) TO holdfast_worker;

--
-- Name: FUNCTION has_callers(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.has_callers() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.has_callers() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.has_callers() TO holdfast_unbound;

--
-- Name: FUNCTION has_roles(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.has_roles() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_maint;
GRANT ALL ON FUNCTION holdfast.has_roles() TO holdfast_unbound;

--
-- Name: FUNCTION has_slot(p_job uuid, p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.has_slot(p_job uuid, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.has_slot(p_job uuid, p_key text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.has_slot(p_job uuid, p_key text) TO holdfast_unbound;

--
-- Name: FUNCTION has_unprojected(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.has_unprojected() FROM PUBLIC;

--
-- Name: FUNCTION head_of(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.head_of(p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION heads(p_first uuid, p_last uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.heads(p_first uuid, p_last uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.heads(p_first uuid, p_last uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.heads(p_first uuid, p_last uuid) TO holdfast_unbound;

--
-- Name: FUNCTION heal(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.heal(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION held_outside(p_job uuid, p_attempt integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.held_outside(p_job uuid, p_attempt integer) FROM PUBLIC;

--
-- Name: FUNCTION hidden_of(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hidden_of(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.hidden_of(p_job uuid) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.hidden_of(p_job uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.hidden_of(p_job uuid) TO holdfast_unbound;

--
-- Name: FUNCTION hold_facts(p_job uuid, p_held text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hold_facts(p_job uuid, p_held text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.hold_facts(p_job uuid, p_held text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.hold_facts(p_job uuid, p_held text) TO holdfast_unbound;

--
-- Name: FUNCTION hold_fence(p_job uuid, p_attempt integer, p_claim_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.hold_fence(p_job uuid, p_attempt integer, p_claim_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION holder_name(p_holder uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.holder_name(p_holder uuid) FROM PUBLIC;

--
-- Name: FUNCTION how_it_stands(p_approval uuid, p_result text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.how_it_stands(p_approval uuid, p_result text) FROM PUBLIC;

--
-- Name: FUNCTION in_order_of_keys(p_jobs uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.in_order_of_keys(p_jobs uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION in_words(p_span interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.in_words(p_span interval) FROM PUBLIC;

--
-- Name: FUNCTION insert_queues(p_tasks jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.insert_queues(p_tasks jsonb) FROM PUBLIC;

--
-- Name: FUNCTION is_address(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_address(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION is_awaited_by(p_job uuid, p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_awaited_by(p_job uuid, p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION is_completed_by(p_job uuid, p_attempt integer, p_claim_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_completed_by(p_job uuid, p_attempt integer, p_claim_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.is_completed_by(p_job uuid, p_attempt integer, p_claim_id uuid) TO holdfast_worker;

--
-- Name: FUNCTION is_first(p_what text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_first(p_what text) FROM PUBLIC;

--
-- Name: FUNCTION is_gated(p_task text, p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_gated(p_task text, p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION is_legal(p_from holdfast.job_status, p_to holdfast.job_status); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) FROM PUBLIC;

--
-- Name: FUNCTION is_native(p_xid bigint, p_xmin xid, p_at timestamp with time zone, p_adopted_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_native(p_xid bigint, p_xmin xid, p_at timestamp with time zone, p_adopted_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.is_native(p_xid bigint, p_xmin xid, p_at timestamp with time zone, p_adopted_at timestamp with time zone) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.is_native(p_xid bigint, p_xmin xid, p_at timestamp with time zone, p_adopted_at timestamp with time zone) TO holdfast_unbound;

--
-- Name: FUNCTION is_needed(p_job uuid, p_parent uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_needed(p_job uuid, p_parent uuid) FROM PUBLIC;

--
-- Name: FUNCTION is_own_task(p_task text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_own_task(p_task text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.is_own_task(p_task text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.is_own_task(p_task text) TO holdfast_unbound;

--
-- Name: FUNCTION is_terminal(p_status holdfast.job_status); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.is_terminal(p_status holdfast.job_status) TO holdfast_unbound;

--
-- Name: FUNCTION is_to_be_undone(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.is_to_be_undone(p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION job_of_schedule(p_schedule holdfast.schedule, p_id uuid, p_slot timestamp with time zone, p_by text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.job_of_schedule(p_schedule holdfast.schedule, p_id uuid, p_slot timestamp with time zone, p_by text) FROM PUBLIC;

--
-- Name: FUNCTION job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.job_outcome(p_id uuid, OUT status holdfast.job_status, OUT result text, OUT error text) TO holdfast_unbound;

--
-- Name: FUNCTION job_outcomes(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.job_outcomes(p_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.job_outcomes(p_ids uuid[]) TO holdfast_worker;

--
-- Name: FUNCTION job_report(p_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.job_report(p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.job_report(p_id uuid) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.job_report(p_id uuid) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.job_report(p_id uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.job_report(p_id uuid) TO holdfast_unbound;

--
-- Name: TABLE webhook_delivery; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.webhook_delivery TO holdfast_api;
GRANT SELECT ON TABLE holdfast.webhook_delivery TO holdfast_unbound;

--
-- Name: FUNCTION jobs_of(p_delivery holdfast.webhook_delivery); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.jobs_of(p_delivery holdfast.webhook_delivery) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.jobs_of(p_delivery holdfast.webhook_delivery) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.jobs_of(p_delivery holdfast.webhook_delivery) TO holdfast_unbound;

--
-- Name: FUNCTION join_limits(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.join_limits(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION join_parents(p_jobs jsonb, p_made jsonb, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.join_parents(p_jobs jsonb, p_made jsonb, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION judge_callback(p_job holdfast.job, p_run holdfast.dispatch, p_run_id text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.judge_callback(p_job holdfast.job, p_run holdfast.dispatch, p_run_id text) FROM PUBLIC;

--
-- Name: FUNCTION judge_quotas(p_tenants text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.judge_quotas(p_tenants text[]) FROM PUBLIC;

--
-- Name: FUNCTION judge_rules(OUT opened bigint, OUT closed bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.judge_rules(OUT opened bigint, OUT closed bigint) FROM PUBLIC;

--
-- Name: FUNCTION keep_answer(p_tenant text, p_key text, p_status integer, p_answer text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_answer(p_tenant text, p_key text, p_status integer, p_answer text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.keep_answer(p_tenant text, p_key text, p_status integer, p_answer text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.keep_answer(p_tenant text, p_key text, p_status integer, p_answer text) TO holdfast_unbound;

--
-- Name: FUNCTION keep_attempt(p_run holdfast.dispatch, p_outcome text, p_error jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_attempt(p_run holdfast.dispatch, p_outcome text, p_error jsonb) FROM PUBLIC;

--
-- Name: FUNCTION keep_logs(p_job holdfast.job, p_worker text, p_outcome text, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_logs(p_job holdfast.job, p_worker text, p_outcome text, p_logs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION keep_readable(p_job uuid, p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_readable(p_job uuid, p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION keep_ring(p_queue text, p_took interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_ring(p_queue text, p_took interval) FROM PUBLIC;

--
-- Name: FUNCTION keep_turn(p_queue text, p_tenant text, p_used integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_turn(p_queue text, p_tenant text, p_used integer) FROM PUBLIC;

--
-- Name: FUNCTION keep_up(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint, OUT more boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.keep_up(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.keep_up(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint, OUT more boolean) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.keep_up(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint, OUT more boolean) TO holdfast_maint;

--
-- Name: FUNCTION key_counts(p_key holdfast.api_key); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.key_counts(p_key holdfast.api_key) FROM PUBLIC;

--
-- Name: FUNCTION key_of(p_payload jsonb, p_fields jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.key_of(p_payload jsonb, p_fields jsonb) FROM PUBLIC;

--
-- Name: FUNCTION last_checkpoint(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.last_checkpoint(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.last_checkpoint(p_job uuid) TO holdfast_worker;

--
-- Name: FUNCTION leave(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.leave() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.leave() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.leave() TO holdfast_unbound;

--
-- Name: FUNCTION leave_flags(p_tasks text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.leave_flags(p_tasks text[]) FROM PUBLIC;

--
-- Name: FUNCTION leave_line(p_job holdfast.job, p_held text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.leave_line(p_job holdfast.job, p_held text) FROM PUBLIC;

--
-- Name: FUNCTION let_go(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.let_go(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION let_go_in_silence(p_holder uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.let_go_in_silence(p_holder uuid) FROM PUBLIC;

--
-- Name: FUNCTION limit_queue(p_queue text, p_most integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.limit_queue(p_queue text, p_most integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.limit_queue(p_queue text, p_most integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.limit_queue(p_queue text, p_most integer) TO holdfast_unbound;

--
-- Name: FUNCTION limits_of(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.limits_of(p_job holdfast.job) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.limits_of(p_job holdfast.job) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.limits_of(p_job holdfast.job) TO holdfast_unbound;

--
-- Name: FUNCTION lines_kept(p_job uuid, p_attempt integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lines_kept(p_job uuid, p_attempt integer) FROM PUBLIC;

--
-- Name: FUNCTION link_birth(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.link_birth() FROM PUBLIC;

--
-- Name: FUNCTION linked(p_before bytea, p_since timestamp with time zone, p_said bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.linked(p_before bytea, p_since timestamp with time zone, p_said bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.linked(p_before bytea, p_since timestamp with time zone, p_said bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.linked(p_before bytea, p_since timestamp with time zone, p_said bytea) TO holdfast_unbound;

--
-- Name: FUNCTION list_keys(p_bound text, p_id text, p_after text, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.list_keys(p_bound text, p_id text, p_after text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.list_keys(p_bound text, p_id text, p_after text, p_limit integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.list_keys(p_bound text, p_id text, p_after text, p_limit integer) TO holdfast_unbound;

--
-- Name: FUNCTION list_people(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.list_people() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.list_people() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.list_people() TO holdfast_unbound;

--
-- Name: FUNCTION listed_fields(p_fields jsonb, p_payload jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.listed_fields(p_fields jsonb, p_payload jsonb) FROM PUBLIC;

--
-- Name: FUNCTION lock_event(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_event(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION lock_job(p_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_job(p_id uuid) FROM PUBLIC;

--
-- Name: FUNCTION lock_jobs(p_ids uuid[], p_tenant text, p_with uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_jobs(p_ids uuid[], p_tenant text, p_with uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION lock_key(p_id text, p_bound text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_key(p_id text, p_bound text) FROM PUBLIC;

--
-- Name: FUNCTION lock_replaced(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_replaced(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION lock_what_follows(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.lock_what_follows(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION long_waits(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.long_waits(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION look_by_token(p_approval uuid, p_token_hash bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.look_by_token(p_approval uuid, p_token_hash bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.look_by_token(p_approval uuid, p_token_hash bytea) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.look_by_token(p_approval uuid, p_token_hash bytea) TO holdfast_unbound;

--
-- Name: FUNCTION low_success_rates(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.low_success_rates(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION made_by(p_retry_of uuid, p_requested_by text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.made_by(p_retry_of uuid, p_requested_by text) FROM PUBLIC;

--
-- Name: FUNCTION make_append_only(p_table regclass, p_name text, p_words text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.make_append_only(p_table regclass, p_name text, p_words text) FROM PUBLIC;

--
-- Name: FUNCTION may_act_as(p_who name, p_role text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_maint;
GRANT ALL ON FUNCTION holdfast.may_act_as(p_who name, p_role text) TO holdfast_unbound;

--
-- Name: FUNCTION may_deadlock(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.may_deadlock(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION seen_tenant(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.seen_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.seen_tenant() TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.seen_tenant() TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.seen_tenant() TO holdfast_unbound;

--
-- Name: FUNCTION may_see(p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.may_see(p_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.may_see(p_tenant text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.may_see(p_tenant text) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.may_see(p_tenant text) TO holdfast_unbound;

--
-- Name: FUNCTION may_touch(p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.may_touch(p_tenant text) FROM PUBLIC;

--
-- Name: FUNCTION measure_storage(p_blocks integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.measure_storage(p_blocks integer) FROM PUBLIC;

--
-- Name: FUNCTION might_conflict(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.might_conflict(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.mint_token(p_approval uuid, p_approver text, p_token_hash bytea, OUT job_id uuid, OUT name text, OUT question text, OUT facts text, OUT approver text, OUT quorum integer, OUT expires_at timestamp with time zone, OUT on_expiry text, OUT bound_hash text) TO holdfast_unbound;

--
-- Name: FUNCTION missed_schedules(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.missed_schedules(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION moment(p_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.moment(p_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION move_to_queue(p_id uuid, p_queue text, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.move_to_queue(p_id uuid, p_queue text, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.move_to_queue(p_id uuid, p_queue text, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.move_to_queue(p_id uuid, p_queue text, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: FUNCTION moved_with(p_ids uuid[], p_tenant text, p_ended boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.moved_with(p_ids uuid[], p_tenant text, p_ended boolean) FROM PUBLIC;

--
-- Name: FUNCTION mute_rule(p_rule text, p_muted boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.mute_rule(p_rule text, p_muted boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.mute_rule(p_rule text, p_muted boolean) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.mute_rule(p_rule text, p_muted boolean) TO holdfast_unbound;

--
-- Name: FUNCTION next_tenants(p_queue text, p_tenant text, p_most integer, p_after timestamp with time zone, p_known holdfast.ring, OUT tenants text[], OUT heads timestamp with time zone[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.next_tenants(p_queue text, p_tenant text, p_most integer, p_after timestamp with time zone, p_known holdfast.ring, OUT tenants text[], OUT heads timestamp with time zone[]) FROM PUBLIC;

--
-- Name: FUNCTION next_turns(p_queue text, p_left integer, p_after timestamp with time zone, p_is_dry boolean, p_known holdfast.ring, INOUT tenant text, INOUT used integer, OUT tenants text[], OUT heads timestamp with time zone[], OUT shares integer[], OUT is_whole boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.next_turns(p_queue text, p_left integer, p_after timestamp with time zone, p_is_dry boolean, p_known holdfast.ring, INOUT tenant text, INOUT used integer, OUT tenants text[], OUT heads timestamp with time zone[], OUT shares integer[], OUT is_whole boolean) FROM PUBLIC;

--
-- Name: FUNCTION no_schedule(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.no_schedule(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION note(p_job uuid, p_kind text, p_actor text, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.note(p_job uuid, p_kind text, p_actor text, p_data jsonb) FROM PUBLIC;

--
-- Name: FUNCTION note_cleared(p_queue text, p_cleared boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.note_cleared(p_queue text, p_cleared boolean) FROM PUBLIC;

--
-- Name: FUNCTION notify(p_messages jsonb, p_declared jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.notify(p_messages jsonb, p_declared jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION obey_callback(p_job holdfast.job, p_run holdfast.dispatch, p_action text, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.obey_callback(p_job holdfast.job, p_run holdfast.dispatch, p_action text, p_data jsonb) FROM PUBLIC;

--
-- Name: FUNCTION person(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.person(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.person(p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.person(p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION objection(p_gate holdfast.approval, p_who text, p_decision text, p_reason text, p_seen_hash text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.objection(p_gate holdfast.approval, p_who text, p_decision text, p_reason text, p_seen_hash text) FROM PUBLIC;

--
-- Name: FUNCTION offer_slots(p_keys text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.offer_slots(p_keys text[]) FROM PUBLIC;

--
-- Name: FUNCTION open_again(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_again(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION open_approval(p_approval uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_approval(p_approval uuid) FROM PUBLIC;

--
-- Name: FUNCTION open_channel(p_channel text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_channel(p_channel text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.open_channel(p_channel text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.open_channel(p_channel text) TO holdfast_unbound;

--
-- Name: FUNCTION open_jobs(p_schedule text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_jobs(p_schedule text) FROM PUBLIC;

--
-- Name: FUNCTION open_lines(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_lines(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION open_tasks(p_tasks text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.open_tasks(p_tasks text[]) FROM PUBLIC;

--
-- Name: TABLE operation; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.operation TO holdfast_api;
GRANT SELECT ON TABLE holdfast.operation TO holdfast_unbound;

--
-- Name: FUNCTION operate(p_operation holdfast.operation, p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.operate(p_operation holdfast.operation, p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION overdue_approvals(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.overdue_approvals(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION own_jobs(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.own_jobs(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION parked_place(p_due timestamp with time zone, p_created timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.parked_place(p_due timestamp with time zone, p_created timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION pass_gates(p_job holdfast.job, p_now timestamp with time zone, p_full text[], OUT held text, OUT busy boolean, OUT ties integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pass_gates(p_job holdfast.job, p_now timestamp with time zone, p_full text[], OUT held text, OUT busy boolean, OUT ties integer) FROM PUBLIC;

--
-- Name: FUNCTION pass_on_turns(p_jobs uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pass_on_turns(p_jobs uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.pause_queue(p_queue text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_unbound;

--
-- Name: FUNCTION pause_schedule(p_name text, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pause_schedule(p_name text, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.pause_schedule(p_name text, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.pause_schedule(p_name text, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: FUNCTION pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.pause_task(p_task text, p_actor text, p_reason text, p_resume_in interval) TO holdfast_unbound;

--
-- Name: FUNCTION period_start(p_period text, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.period_start(p_period text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION place_in_line(p_due timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.place_in_line(p_due timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION project(p_limit integer, OUT projected bigint, OUT events bigint, OUT more boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.project(p_limit integer, OUT projected bigint, OUT events bigint, OUT more boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.project(p_limit integer, OUT projected bigint, OUT events bigint, OUT more boolean) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.project(p_limit integer, OUT projected bigint, OUT events bigint, OUT more boolean) TO holdfast_maint;

--
-- Name: FUNCTION project_slice(p_from bigint, p_to bigint, p_end bigint, p_running bigint[], p_ended bigint[], p_limit integer, p_cursor holdfast.projection, OUT projected bigint, OUT events bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.project_slice(p_from bigint, p_to bigint, p_end bigint, p_running bigint[], p_ended bigint[], p_limit integer, p_cursor holdfast.projection, OUT projected bigint, OUT events bigint) FROM PUBLIC;

--
-- Name: FUNCTION publish(p_channel text, p_kind text, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.publish(p_channel text, p_kind text, p_data jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION put_aside(p_job holdfast.job, p_due_at timestamp with time zone, p_held_by text, p_reason text, p_logs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.put_aside(p_job holdfast.job, p_due_at timestamp with time zone, p_held_by text, p_reason text, p_logs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION put_at(p_job holdfast.job, p_priority integer, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.put_at(p_job holdfast.job, p_priority integer, p_actor text, p_reason text) FROM PUBLIC;

--
-- Name: FUNCTION put_into_queue(p_job holdfast.job, p_queue text, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.put_into_queue(p_job holdfast.job, p_queue text, p_actor text, p_reason text) FROM PUBLIC;

--
-- Name: FUNCTION put_notification(p_id uuid, p_kind text, p_channel text, p_recipient text, p_alert uuid, p_approval uuid, p_subject text, p_body text, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.put_notification(p_id uuid, p_kind text, p_channel text, p_recipient text, p_alert uuid, p_approval uuid, p_subject text, p_body text, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION put_schedule(p_definition jsonb, p_declared boolean, p_replace boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.put_schedule(p_definition jsonb, p_declared boolean, p_replace boolean) FROM PUBLIC;

--
-- Name: FUNCTION queue_at(p_job uuid, p_seq integer, p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.queue_at(p_job uuid, p_seq integer, p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.queue_at(p_job uuid, p_seq integer, p_queue text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.queue_at(p_job uuid, p_seq integer, p_queue text) TO holdfast_unbound;

--
-- Name: TABLE queue; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.queue TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_api;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_maint;
GRANT SELECT ON TABLE holdfast.queue TO holdfast_unbound;

--
-- Name: FUNCTION queue_is_paused(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.queue_is_paused(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION raise_alerts(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.raise_alerts(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION rates_of(p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rates_of(p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.read_channels(p_channels text[], p_tenants text[], p_after bigint[], p_limit integer) TO holdfast_unbound;

--
-- Name: FUNCTION read_feed(p_channel text, p_after bigint, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.read_feed(p_channel text, p_after bigint, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.read_feed(p_channel text, p_after bigint, p_limit integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.read_feed(p_channel text, p_after bigint, p_limit integer) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.read_feed(p_channel text, p_after bigint, p_limit integer) TO holdfast_unbound;

--
-- Name: FUNCTION read_gate(p_job holdfast.job, p_attempt integer, p_name text, p_gate jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.read_gate(p_job holdfast.job, p_attempt integer, p_name text, p_gate jsonb) FROM PUBLIC;

--
-- Name: FUNCTION read_jobs(p_jobs uuid[], p_seqs integer[], p_notes bigint[], p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.read_jobs(p_jobs uuid[], p_seqs integer[], p_notes bigint[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.read_jobs(p_jobs uuid[], p_seqs integer[], p_notes bigint[], p_limit integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.read_jobs(p_jobs uuid[], p_seqs integer[], p_notes bigint[], p_limit integer) TO holdfast_unbound;

--
-- Name: FUNCTION ready_since(p_claim_order timestamp with time zone, p_priority integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.ready_since(p_claim_order timestamp with time zone, p_priority integer) FROM PUBLIC;

--
-- Name: FUNCTION record_action(p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.record_action(p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.record_action(p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.record_action(p_actor text, p_address text, p_action text, p_target text, p_tenant text, p_reason text, p_data jsonb) TO holdfast_unbound;

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
-- Name: FUNCTION refuse_quota(p_position bigint, p_id uuid, p_tenant text, p_task text, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.refuse_quota(p_position bigint, p_id uuid, p_tenant text, p_task text, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text) FROM PUBLIC;

--
-- Name: FUNCTION refuse_stranger(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.refuse_stranger(p_name text) FROM PUBLIC;

--
-- Name: FUNCTION register_alerts(p_app text, p_channels jsonb, p_rules jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.register_alerts(p_app text, p_channels jsonb, p_rules jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.register_alerts(p_app text, p_channels jsonb, p_rules jsonb) TO holdfast_worker;

--
-- Name: FUNCTION register_schedules(p_worker uuid, p_definitions jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.register_schedules(p_worker uuid, p_definitions jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.register_schedules(p_worker uuid, p_definitions jsonb) TO holdfast_worker;

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
-- Name: FUNCTION release_after_run(p_run holdfast.dispatch); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.release_after_run(p_run holdfast.dispatch) FROM PUBLIC;

--
-- Name: FUNCTION release_compensations(p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.release_compensations(p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION release_retries(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.release_retries(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION release_slots(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.release_slots(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION remove_approvals(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.remove_approvals(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION remove_jobs(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.remove_jobs(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.report_progress(p_job uuid, p_attempt integer, p_claim_id uuid, p_done double precision, p_total double precision, p_note text) TO holdfast_worker;

--
-- Name: FUNCTION reprioritise(p_id uuid, p_priority integer, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.reprioritise(p_id uuid, p_priority integer, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.reprioritise(p_id uuid, p_priority integer, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.reprioritise(p_id uuid, p_priority integer, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: FUNCTION require_bounds(p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.require_bounds(p_tenant text) FROM PUBLIC;

--
-- Name: FUNCTION require_changeable(p_action text, p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.require_changeable(p_action text, p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION require_own(p_tenant text, p_what text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.require_own(p_tenant text, p_what text) FROM PUBLIC;

--
-- Name: FUNCTION require_unbound(p_what text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.require_unbound(p_what text) FROM PUBLIC;

--
-- Name: FUNCTION results_of(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.results_of(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.results_of(p_job uuid) TO holdfast_worker;

--
-- Name: FUNCTION resume_queue(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.resume_queue(p_queue text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.resume_queue(p_queue text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.resume_queue(p_queue text) TO holdfast_unbound;

--
-- Name: FUNCTION resume_schedule(p_name text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.resume_schedule(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.resume_schedule(p_name text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.resume_schedule(p_name text) TO holdfast_unbound;

--
-- Name: FUNCTION resume_task(p_task text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.resume_task(p_task text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.resume_task(p_task text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.resume_task(p_task text) TO holdfast_unbound;

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
GRANT ALL ON FUNCTION holdfast.retry(p_id uuid, p_actor text, p_reason text, p_new_id uuid) TO holdfast_unbound;

--
-- Name: FUNCTION return_jobs(p_worker uuid, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.return_jobs(p_worker uuid, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION revoke_key(p_id text, p_bound text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.revoke_key(p_id text, p_bound text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.revoke_key(p_id text, p_bound text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.revoke_key(p_id text, p_bound text) TO holdfast_unbound;

--
-- Name: FUNCTION rollout_bucket(p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rollout_bucket(p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.rollout_bucket(p_key text) TO holdfast_unbound;

--
-- Name: FUNCTION rollout_position(p_key text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rollout_position(p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_producer;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.rollout_position(p_key text) TO holdfast_unbound;

--
-- Name: FUNCTION rotate_key(p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamp with time zone, p_actor text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.rotate_key(p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamp with time zone, p_actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.rotate_key(p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamp with time zone, p_actor text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.rotate_key(p_id text, p_bound text, p_new_id text, p_new_digest bytea, p_overlap interval, p_expires_at timestamp with time zone, p_actor text) TO holdfast_unbound;

--
-- Name: FUNCTION run_chunk(p_operation uuid, p_nth integer, OUT done integer, OUT skipped integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.run_chunk(p_operation uuid, p_nth integer, OUT done integer, OUT skipped integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.run_chunk(p_operation uuid, p_nth integer, OUT done integer, OUT skipped integer) TO holdfast_worker;

--
-- Name: FUNCTION run_fault(p_run holdfast.dispatch); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.run_fault(p_run holdfast.dispatch) FROM PUBLIC;

--
-- Name: FUNCTION run_schedule(p_name text, p_actor text, p_id uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.run_schedule(p_name text, p_actor text, p_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.run_schedule(p_name text, p_actor text, p_id uuid) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.run_schedule(p_name text, p_actor text, p_id uuid) TO holdfast_unbound;

--
-- Name: FUNCTION running_in(p_snapshot pg_snapshot); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.running_in(p_snapshot pg_snapshot) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.running_in(p_snapshot pg_snapshot) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.running_in(p_snapshot pg_snapshot) TO holdfast_unbound;

--
-- Name: FUNCTION running_on(p_job uuid, p_holder uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.running_on(p_job uuid, p_holder uuid) FROM PUBLIC;

--
-- Name: FUNCTION said(p_to holdfast.job_status, p_at timestamp with time zone, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.said(p_to holdfast.job_status, p_at timestamp with time zone, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.said(p_to holdfast.job_status, p_at timestamp with time zone, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.said(p_to holdfast.job_status, p_at timestamp with time zone, p_xid bigint, p_actor text, p_reason text, p_metadata jsonb) TO holdfast_unbound;

--
-- Name: FUNCTION save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.save_checkpoint(p_job uuid, p_attempt integer, p_claim_id uuid, p_value jsonb) TO holdfast_worker;

--
-- Name: FUNCTION save_logs(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_firsts integer[], p_lines text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_logs(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_firsts integer[], p_lines text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.save_logs(p_worker uuid, p_ids uuid[], p_attempts integer[], p_claim_ids uuid[], p_firsts integer[], p_lines text[]) TO holdfast_worker;

--
-- Name: FUNCTION save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision, p_importance text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision, p_importance text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.save_step(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_kind text, p_after text, p_value jsonb, p_undoable boolean, p_tries integer, p_took double precision, p_importance text) TO holdfast_worker;

--
-- Name: FUNCTION save_view(p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.save_view(p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.save_view(p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.save_view(p_tenant text, p_owner text, p_name text, p_search text, p_columns text, p_reach text, p_saved_by text) TO holdfast_unbound;

--
-- Name: FUNCTION saved_steps(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.saved_steps(p_job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.saved_steps(p_job uuid) TO holdfast_worker;

--
-- Name: FUNCTION session_counts(p_session holdfast.session); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.session_counts(p_session holdfast.session) FROM PUBLIC;

--
-- Name: FUNCTION set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.set_flag(p_flag text, p_enabled boolean, p_percent integer, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: FUNCTION set_password(p_name text, p_password text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_password(p_name text, p_password text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_password(p_name text, p_password text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.set_password(p_name text, p_password text) TO holdfast_unbound;

--
-- Name: FUNCTION set_quota(p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_quota(p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_quota(p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.set_quota(p_tenant text, p_task text, p_period text, p_measure text, p_soft numeric, p_hard numeric) TO holdfast_unbound;

--
-- Name: FUNCTION set_role(p_name text, p_role text, p_tenant text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_role(p_name text, p_role text, p_tenant text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_role(p_name text, p_role text, p_tenant text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.set_role(p_name text, p_role text, p_tenant text) TO holdfast_unbound;

--
-- Name: FUNCTION set_tenant_weight(p_tenant text, p_weight integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.set_tenant_weight(p_tenant text, p_weight integer) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.set_tenant_weight(p_tenant text, p_weight integer) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.set_tenant_weight(p_tenant text, p_weight integer) TO holdfast_unbound;

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
-- Name: FUNCTION settle_expiry(p_gate holdfast.approval); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.settle_expiry(p_gate holdfast.approval) FROM PUBLIC;

--
-- Name: FUNCTION share_out(p_tenants text[], p_is_whole boolean, p_limit integer, p_least integer, p_tenant text, p_used integer, OUT shares integer[], OUT tenant text, OUT used integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.share_out(p_tenants text[], p_is_whole boolean, p_limit integer, p_least integer, p_tenant text, p_used integer, OUT shares integer[], OUT tenant text, OUT used integer) FROM PUBLIC;

--
-- Name: FUNCTION silent_runs(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.silent_runs(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION since_when(p_from holdfast.job_status, p_to holdfast.job_status, p_ready_at timestamp with time zone, p_started_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.since_when(p_from holdfast.job_status, p_to holdfast.job_status, p_ready_at timestamp with time zone, p_started_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION sleep_until(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_seconds double precision, p_until timestamp with time zone, p_logs jsonb, p_importance text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.sleep_until(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_seconds double precision, p_until timestamp with time zone, p_logs jsonb, p_importance text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.sleep_until(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_seconds double precision, p_until timestamp with time zone, p_logs jsonb, p_importance text) TO holdfast_worker;

--
-- Name: FUNCTION stay_awake(p_worker uuid, p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.stay_awake(p_worker uuid, p_queues text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.stay_awake(p_worker uuid, p_queues text[]) TO holdfast_worker;

--
-- Name: FUNCTION still_held(p_holder uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.still_held(p_holder uuid) FROM PUBLIC;

--
-- Name: FUNCTION stop_runs(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.stop_runs(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint, OUT expired bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint, OUT expired bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint, OUT expired bigint) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.sweep(p_limit integer, OUT died bigint, OUT returned bigint, OUT overdue bigint, OUT expired bigint) TO holdfast_maint;

--
-- Name: FUNCTION take_away(p_job holdfast.job, p_actor text, p_address text, p_reason text, p_operation uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.take_away(p_job holdfast.job, p_actor text, p_address text, p_reason text, p_operation uuid) FROM PUBLIC;

--
-- Name: FUNCTION take_dispatches(p_worker uuid, p_executors text[], p_limit integer, p_lease double precision); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.take_dispatches(p_worker uuid, p_executors text[], p_limit integer, p_lease double precision) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.take_dispatches(p_worker uuid, p_executors text[], p_limit integer, p_lease double precision) TO holdfast_worker;

--
-- Name: FUNCTION take_tries(p_buckets text[], p_tries integer[], p_periods interval[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.take_tries(p_buckets text[], p_tries integer[], p_periods interval[]) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.take_tries(p_buckets text[], p_tries integer[], p_periods interval[]) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.take_tries(p_buckets text[], p_tries integer[], p_periods interval[]) TO holdfast_unbound;

--
-- Name: TABLE task; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.task TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.task TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.task TO holdfast_api;
GRANT SELECT ON TABLE holdfast.task TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.task TO holdfast_maint;
GRANT SELECT ON TABLE holdfast.task TO holdfast_unbound;

--
-- Name: FUNCTION task_is_paused(p_task holdfast.task); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.task_is_paused(p_task holdfast.task) FROM PUBLIC;

--
-- Name: FUNCTION tell_approvers(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tell_approvers() FROM PUBLIC;

--
-- Name: FUNCTION tell_followers(p_ids uuid[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tell_followers(p_ids uuid[]) FROM PUBLIC;

--
-- Name: FUNCTION tell_of_alert(p_alert uuid, p_kind text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tell_of_alert(p_alert uuid, p_kind text) FROM PUBLIC;

--
-- Name: FUNCTION tell_quota(p_kind text, p_tenant text, p_task text, p_period text, p_measure text, p_mark numeric, p_used numeric, p_since timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tell_quota(p_kind text, p_tenant text, p_task text, p_period text, p_measure text, p_mark numeric, p_used numeric, p_since timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION tenants_in_line(p_queue text, p_from text, p_below text, p_most integer, OUT tenants text[], OUT heads timestamp with time zone[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.tenants_in_line(p_queue text, p_from text, p_below text, p_most integer, OUT tenants text[], OUT heads timestamp with time zone[]) FROM PUBLIC;

--
-- Name: FUNCTION token_holder(p_gate holdfast.approval, p_token_hash bytea); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.token_holder(p_gate holdfast.approval, p_token_hash bytea) FROM PUBLIC;

--
-- Name: FUNCTION told_of_birth(p_retry_of uuid, p_due_at timestamp with time zone, p_held_by text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.told_of_birth(p_retry_of uuid, p_due_at timestamp with time zone, p_held_by text) FROM PUBLIC;

--
-- Name: FUNCTION told_of_decision(p_job uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.told_of_decision(p_job uuid) FROM PUBLIC;

--
-- Name: FUNCTION told_of_gate(p_approval uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.told_of_gate(p_approval uuid) FROM PUBLIC;

--
-- Name: FUNCTION told_of_move(p_job uuid, p_from holdfast.job_status, p_to holdfast.job_status, p_approval uuid, p_error jsonb, p_retries integer, p_crashes integer, p_due_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.told_of_move(p_job uuid, p_from holdfast.job_status, p_to holdfast.job_status, p_approval uuid, p_error jsonb, p_retries integer, p_crashes integer, p_due_at timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION too_many_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.too_many_failures(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION try_to_enqueue(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.try_to_enqueue(p_jobs jsonb) FROM PUBLIC;

--
-- Name: FUNCTION unapproved(p_approval uuid); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unapproved(p_approval uuid) FROM PUBLIC;

--
-- Name: FUNCTION undeclared_schedules(p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.undeclared_schedules(p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION unknown_approval(); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unknown_approval() FROM PUBLIC;

--
-- Name: FUNCTION unknown_outcome(p_outcome text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unknown_outcome(p_outcome text) FROM PUBLIC;

--
-- Name: FUNCTION unknown_task(p_position bigint, p_task text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unknown_task(p_position bigint, p_task text) FROM PUBLIC;

--
-- Name: FUNCTION unpark(p_held text, p_limit integer); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unpark(p_held text, p_limit integer) FROM PUBLIC;

--
-- Name: FUNCTION unserved_queues(p_rule holdfast.alert_rule, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.unserved_queues(p_rule holdfast.alert_rule, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.upkeep(p_limit integer, OUT partitions bigint, OUT removed bigint, OUT forgotten bigint) TO holdfast_maint;

--
-- Name: FUNCTION use_key(p_id text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.use_key(p_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.use_key(p_id text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.use_key(p_id text) TO holdfast_unbound;

--
-- Name: FUNCTION uuid_at(p_at timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_worker;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_viewer;
GRANT ALL ON FUNCTION holdfast.uuid_at(p_at timestamp with time zone) TO holdfast_unbound;

--
-- Name: FUNCTION vote(p_gate holdfast.approval, p_who text, p_how text, p_decision text, p_reason text, p_origin text, p_seen_hash text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.vote(p_gate holdfast.approval, p_who text, p_how text, p_decision text, p_reason text, p_origin text, p_seen_hash text) FROM PUBLIC;

--
-- Name: FUNCTION wait_for_event(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_event text, p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean, OUT payload text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wait_for_event(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_event text, p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean, OUT payload text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.wait_for_event(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_event text, p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean, OUT payload text) TO holdfast_worker;

--
-- Name: FUNCTION wait_for_jobs(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_ids uuid[], p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wait_for_jobs(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_ids uuid[], p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.wait_for_jobs(p_job uuid, p_attempt integer, p_claim_id uuid, p_name text, p_after text, p_ids uuid[], p_timeout double precision, p_logs jsonb, p_importance text, OUT waits boolean, OUT timed_out boolean) TO holdfast_worker;

--
-- Name: FUNCTION waiting_since(p_queue text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.waiting_since(p_queue text) FROM PUBLIC;

--
-- Name: FUNCTION wake(p_queues text[]); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wake(p_queues text[]) FROM PUBLIC;

--
-- Name: TABLE quota; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.quota TO holdfast_api;
GRANT SELECT ON TABLE holdfast.quota TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.quota TO holdfast_unbound;

--
-- Name: FUNCTION wanted(p_jobs jsonb, p_now timestamp with time zone); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wanted(p_jobs jsonb, p_now timestamp with time zone) FROM PUBLIC;

--
-- Name: FUNCTION why_unchanged(p_action text, p_job holdfast.job); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.why_unchanged(p_action text, p_job holdfast.job) FROM PUBLIC;

--
-- Name: FUNCTION wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION holdfast.wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text) TO holdfast_api;
GRANT ALL ON FUNCTION holdfast.wish_of_worker(p_worker uuid, p_wish text, p_actor text, p_reason text) TO holdfast_unbound;

--
-- Name: FUNCTION with_ids(p_jobs jsonb); Type: ACL; Schema: holdfast; Owner: -
--

REVOKE ALL ON FUNCTION holdfast.with_ids(p_jobs jsonb) FROM PUBLIC;

--
-- Name: TABLE activity; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.activity TO holdfast_api;
GRANT SELECT ON TABLE holdfast.activity TO holdfast_unbound;

--
-- Name: TABLE alert; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.alert TO holdfast_api;
GRANT SELECT ON TABLE holdfast.alert TO holdfast_unbound;

--
-- Name: TABLE alert_channel; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.alert_channel TO holdfast_api;
GRANT SELECT ON TABLE holdfast.alert_channel TO holdfast_unbound;

--
-- Name: TABLE approval_decision; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.approval_decision TO holdfast_api;
GRANT SELECT ON TABLE holdfast.approval_decision TO holdfast_unbound;

--
-- Name: TABLE attempt; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.attempt TO holdfast_api;
GRANT SELECT ON TABLE holdfast.attempt TO holdfast_unbound;

--
-- Name: TABLE audit; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.audit TO holdfast_api;
GRANT SELECT ON TABLE holdfast.audit TO holdfast_unbound;

--
-- Name: TABLE callback_nonce; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.callback_nonce TO holdfast_api;
GRANT SELECT ON TABLE holdfast.callback_nonce TO holdfast_unbound;

--
-- Name: TABLE channel; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.channel TO holdfast_api;
GRANT SELECT ON TABLE holdfast.channel TO holdfast_unbound;

--
-- Name: TABLE checkpoint; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.checkpoint TO holdfast_api;
GRANT SELECT ON TABLE holdfast.checkpoint TO holdfast_unbound;

--
-- Name: TABLE dependency; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.dependency TO holdfast_api;
GRANT SELECT ON TABLE holdfast.dependency TO holdfast_unbound;

--
-- Name: TABLE duration; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.duration TO holdfast_api;
GRANT SELECT ON TABLE holdfast.duration TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.duration TO holdfast_unbound;

--
-- Name: TABLE event; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.event TO holdfast_api;
GRANT SELECT ON TABLE holdfast.event TO holdfast_unbound;

--
-- Name: TABLE feed; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.feed TO holdfast_api;
GRANT SELECT ON TABLE holdfast.feed TO holdfast_unbound;

--
-- Name: TABLE flag; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.flag TO holdfast_api;
GRANT SELECT ON TABLE holdfast.flag TO holdfast_unbound;

--
-- Name: TABLE job_history; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job_history TO holdfast_api;
GRANT SELECT ON TABLE holdfast.job_history TO holdfast_unbound;

--
-- Name: TABLE history_overview; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.history_overview TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.history_overview TO holdfast_api;
GRANT SELECT ON TABLE holdfast.history_overview TO holdfast_unbound;

--
-- Name: TABLE installed; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.installed TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_api;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_maint;
GRANT SELECT ON TABLE holdfast.installed TO holdfast_unbound;

--
-- Name: TABLE job_overview; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.job_overview TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.job_overview TO holdfast_api;
GRANT SELECT ON TABLE holdfast.job_overview TO holdfast_unbound;

--
-- Name: TABLE left_over; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.left_over TO holdfast_api;
GRANT SELECT ON TABLE holdfast.left_over TO holdfast_unbound;

--
-- Name: TABLE log_part; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.log_part TO holdfast_api;
GRANT SELECT ON TABLE holdfast.log_part TO holdfast_unbound;

--
-- Name: TABLE notification; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.notification TO holdfast_api;
GRANT SELECT ON TABLE holdfast.notification TO holdfast_unbound;

--
-- Name: TABLE operation_chunk; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.operation_chunk TO holdfast_api;
GRANT SELECT ON TABLE holdfast.operation_chunk TO holdfast_unbound;

--
-- Name: TABLE progress; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.progress TO holdfast_api;
GRANT SELECT ON TABLE holdfast.progress TO holdfast_unbound;

--
-- Name: TABLE rate_slot; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.rate_slot TO holdfast_api;
GRANT SELECT ON TABLE holdfast.rate_slot TO holdfast_unbound;

--
-- Name: TABLE rate_wait; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.rate_wait TO holdfast_api;
GRANT SELECT ON TABLE holdfast.rate_wait TO holdfast_unbound;

--
-- Name: SEQUENCE refusal; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON SEQUENCE holdfast.refusal TO holdfast_api;
GRANT SELECT ON SEQUENCE holdfast.refusal TO holdfast_unbound;

--
-- Name: TABLE saved_view; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.saved_view TO holdfast_api;
GRANT SELECT ON TABLE holdfast.saved_view TO holdfast_unbound;

--
-- Name: TABLE schedule_run; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.schedule_run TO holdfast_api;
GRANT SELECT ON TABLE holdfast.schedule_run TO holdfast_unbound;

--
-- Name: TABLE sleeper; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.sleeper TO holdfast_api;
GRANT SELECT ON TABLE holdfast.sleeper TO holdfast_unbound;

--
-- Name: TABLE slot; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.slot TO holdfast_api;
GRANT SELECT ON TABLE holdfast.slot TO holdfast_unbound;

--
-- Name: TABLE statistic; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.statistic TO holdfast_api;
GRANT SELECT ON TABLE holdfast.statistic TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.statistic TO holdfast_unbound;

--
-- Name: TABLE step; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.step TO holdfast_api;
GRANT SELECT ON TABLE holdfast.step TO holdfast_unbound;

--
-- Name: TABLE storage; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.storage TO holdfast_api;
GRANT SELECT ON TABLE holdfast.storage TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.storage TO holdfast_unbound;

--
-- Name: TABLE tally; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.tally TO holdfast_api;
GRANT SELECT ON TABLE holdfast.tally TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.tally TO holdfast_unbound;

--
-- Name: TABLE tenant; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.tenant TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.tenant TO holdfast_api;
GRANT SELECT ON TABLE holdfast.tenant TO holdfast_unbound;

--
-- Name: TABLE timing; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.timing TO holdfast_api;
GRANT SELECT ON TABLE holdfast.timing TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.timing TO holdfast_unbound;

--
-- Name: TABLE upkeep; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.upkeep TO holdfast_api;
GRANT SELECT ON TABLE holdfast.upkeep TO holdfast_unbound;

--
-- Name: TABLE usage; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.usage TO holdfast_api;
GRANT SELECT ON TABLE holdfast.usage TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.usage TO holdfast_unbound;

--
-- Name: TABLE wait; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.wait TO holdfast_api;
GRANT SELECT ON TABLE holdfast.wait TO holdfast_unbound;

--
-- Name: TABLE worker; Type: ACL; Schema: holdfast; Owner: -
--

GRANT SELECT ON TABLE holdfast.worker TO holdfast_producer;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_worker;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_api;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_viewer;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_maint;
GRANT SELECT ON TABLE holdfast.worker TO holdfast_unbound;

--
-- PostgreSQL database dump complete
--
