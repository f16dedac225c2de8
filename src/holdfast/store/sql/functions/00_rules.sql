-- The machine's rules, kept by triggers whoever writes: legal moves, what never changes, and a history row for every move.

create or replace function holdfast.is_legal(p_from holdfast.job_status, p_to holdfast.job_status) returns boolean
language sql immutable parallel safe
return case p_from
    when 'PENDING' then p_to in ('RUNNING', 'CANCELLED')
    when 'RUNNING' then p_to in ('COMPLETED', 'FAILED', 'RETRY', 'WAITING_FOR_APPROVAL', 'WAITING', 'CANCELLED')
    when 'RETRY' then p_to in ('RUNNING', 'FAILED', 'CANCELLED')
    when 'WAITING_FOR_APPROVAL' then p_to in ('RUNNING', 'FAILED', 'CANCELLED')
    when 'WAITING' then p_to in ('RUNNING', 'FAILED', 'CANCELLED')
    else false
  end;

create or replace function holdfast.is_terminal(p_status holdfast.job_status) returns boolean
language sql immutable parallel safe
return p_status in ('COMPLETED', 'FAILED', 'CANCELLED');

-- At most an hour's head start for a hundred points of priority: static, so one index is the line, and ages for free.
create or replace function holdfast.place_in_line(p_due timestamptz, p_priority int) returns timestamptz
language sql stable parallel safe
return p_due - p_priority * interval '36 seconds';

-- Since when a job in line could have been taken.
create or replace function holdfast.ready_since(p_claim_order timestamptz, p_priority int) returns timestamptz
language sql stable parallel safe
return p_claim_order + p_priority * interval '36 seconds';

-- The rule between a job's columns that is broken, or null. Not check constraints, which PostgreSQL prepares anew for every
-- statement (33 µs here); and those can say only their name, and show the row.
create or replace function holdfast.broken_rule(
  p_status holdfast.job_status, p_holder uuid, p_claim_order timestamptz, p_due_at timestamptz, p_held_by text, p_deadline_at timestamptz,
  p_finished_at timestamptz, p_approval_id uuid, p_error jsonb, p_result jsonb, p_retry_count int, p_max_retries int, p_key text,
  p_key_scope text, p_key_held boolean) returns text
language sql immutable parallel safe
return case
    when (p_status = 'RUNNING') <> (p_holder is not null) then 'a job has a holder exactly while it is RUNNING'
    when p_status in ('RUNNING', 'COMPLETED', 'FAILED', 'CANCELLED') and (p_claim_order is not null or p_due_at is not null or p_held_by is not null)
      then 'a job that runs or has ended is not in line, not due and not held back'
    when p_status = 'RETRY' and p_due_at is null then 'RETRY needs a time: due_at'
    when p_status = 'PENDING' and p_claim_order is null and p_due_at is null and p_held_by is null
      then 'a PENDING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'
    when p_status = 'WAITING' and p_claim_order is null and p_due_at is null and p_held_by is null
      then 'a WAITING job is in line (claim_order), due later (due_at) or held back (held_by): otherwise it would wait for ever'
    when p_deadline_at is not null and p_status <> 'RUNNING' then 'only a RUNNING job has a deadline'
    when (p_status in ('COMPLETED', 'FAILED', 'CANCELLED')) <> (p_finished_at is not null) then 'a job has finished_at exactly when it has ended'
    when (p_status = 'WAITING_FOR_APPROVAL') <> (p_approval_id is not null) then 'a job has an approval exactly while it is WAITING_FOR_APPROVAL'
    when p_status = 'FAILED' and p_error is null then 'FAILED needs an error'
    when jsonb_typeof(p_error) <> 'object' then 'an error is a JSON object'
    when p_result is not null and p_status <> 'COMPLETED' then 'only a COMPLETED job has a result'
    when p_retry_count < 0 or p_retry_count > p_max_retries then 'retry_count stays between 0 and max_retries'
    when (p_key is null) <> (p_key_scope is null) or (p_key is null and p_key_held) then 'a key has a scope, and only a key can be held'
  end;

-- Counts what a guard is about to refuse: nothing that Holdfast itself does comes to that. A number stays given when all else is taken back.
create or replace function holdfast.count_refusal() returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  select nextval('holdfast.refusal')
$$;

create or replace function holdfast.refuse_rule(p_job uuid, p_status holdfast.job_status, p_rule text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.count_refusal();
  raise exception 'job % cannot be % like this: %', p_job, p_status, p_rule using errcode = 'HF001';
end $$;

-- Who acts, for the history: what our functions or the session say, else who logged in.
create or replace function holdfast.actor() returns text
language sql stable
return coalesce(nullif(current_setting('holdfast.actor', true), ''), session_user);

-- Writes down what happens to a job without moving it. Never a token, a secret or a payload: readers of the feed see it.
create or replace function holdfast.note(p_job uuid, p_kind text, p_actor text, p_data jsonb) returns void
language sql set search_path = pg_catalog, holdfast, pg_temp as $$
  insert into holdfast.activity (job_id, at, xid, kind, actor, data)
  values (p_job, holdfast.clock(), pg_current_xact_id()::text::bigint, p_kind, coalesce(p_actor, holdfast.actor()), p_data)
$$;

-- Who made a job, for its history: who retries is not who asked first.
create or replace function holdfast.made_by(p_retry_of uuid, p_requested_by text) returns text
language sql stable
return case when p_retry_of is null then coalesce(p_requested_by, holdfast.actor()) else holdfast.actor() end;

-- What the history tells of a birth beside its columns: when it is ready, for whoever measures how long it waited.
create or replace function holdfast.told_of_birth(p_retry_of uuid, p_due_at timestamptz, p_held_by text) returns jsonb
language sql stable
return case when p_retry_of is not null or p_due_at is not null or p_held_by is not null
            then jsonb_strip_nulls(jsonb_build_object('retry_of', p_retry_of, 'due_at', p_due_at, 'held_by', p_held_by)) end;

-- Since when what a move ends had been so: in line until it is claimed, and run until that ends.
create or replace function holdfast.since_when(
  p_from holdfast.job_status, p_to holdfast.job_status, p_ready_at timestamptz, p_started_at timestamptz) returns timestamptz
language sql immutable parallel safe
return case when p_to = 'RUNNING' then p_ready_at when p_from = 'RUNNING' then p_started_at end;

-- Called for moves that are not already written as they must be: refuses the illegal, completes the rest.
create or replace function holdfast.guard_move() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

-- An update that is no move: the numbers that a move writes stay, and a terminal row gives up its key at most.
create or replace function holdfast.guard_stay() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

create or replace function holdfast.refuse() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
begin
  perform holdfast.count_refusal();
  raise exception '%', tg_argv[0] using errcode = 'HF003';
end $$;

-- Retention is the one way out: its function says so for its own transaction, and only the owner may delete at all.
create or replace function holdfast.guard_removal() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

create or replace function holdfast.record_births() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

create or replace function holdfast.record_moves() returns trigger
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

-- claim and complete write a move as it must be, and then the condition alone is checked: a tenth of the function's cost.
create or replace trigger guard_move before update on holdfast.job
  for each row when (
    old.status <> new.status
    and (holdfast.is_legal(old.status, new.status)
             and new.seq = old.seq + 1
             and new.came_from = old.status
             and new.chain <> old.chain   -- whether it is the right one, only the history says
             and new.updated_at >= old.updated_at
             -- A time that a function can have read during this statement, however long it takes.
             and new.updated_at between holdfast.clock() - (clock_timestamp() - statement_timestamp()) and holdfast.clock()
             and (old.key_held or not new.key_held)
             and case when new.status = 'RUNNING'
                      then new.attempt = old.attempt + 1 and new.claim_id is not null and new.claim_id is distinct from old.claim_id
                           and new.ready_at = holdfast.ready_since(old.claim_order, old.priority) and new.started_at = new.updated_at
                           and new.finished_at is null
                      else new.attempt = old.attempt and new.claim_id is not distinct from old.claim_id
                           and new.ready_at = old.ready_at and new.started_at = old.started_at
                           and new.status = 'COMPLETED' and new.finished_at = new.updated_at and not new.key_held
                 end) is not true)   -- not "not (…)": with a null in it the guard would not be called at all
  execute function holdfast.guard_move();
create or replace trigger guard_stay before update on holdfast.job
  for each row when (old.status = new.status) execute function holdfast.guard_stay();
create or replace trigger identity_is_immutable
  before update of id, task, payload, tenant, subject, created_at, retry_of, requested_by, key, key_scope, parent_id, compensates on holdfast.job
  for each row when ((old.id, old.task, old.payload::text, old.tenant, old.subject, old.created_at, old.retry_of, old.requested_by, old.key, old.key_scope,
                      old.parent_id, old.compensates)
                     is distinct from
                     (new.id, new.task, new.payload::text, new.tenant, new.subject, new.created_at, new.retry_of, new.requested_by, new.key, new.key_scope,
                      new.parent_id, new.compensates))
  execute function holdfast.refuse('the payload, task, tenant, subject, key and origin of a job never change');
create or replace trigger guard_removal before delete on holdfast.job
  for each row execute function holdfast.guard_removal('jobs are kept: DELETE is for retention only');
create or replace trigger guard_truncate before truncate on holdfast.job
  for each statement execute function holdfast.refuse('jobs are kept: TRUNCATE is refused');
create or replace trigger record_births after insert on holdfast.job
  referencing new table as born
  for each statement execute function holdfast.record_births();
create or replace trigger record_moves after update on holdfast.job
  referencing new table as moved
  for each statement execute function holdfast.record_moves();

-- ALWAYS: session_replication_role = replica does not walk past them.
alter table holdfast.job enable always trigger guard_move;
alter table holdfast.job enable always trigger guard_stay;
alter table holdfast.job enable always trigger identity_is_immutable;
alter table holdfast.job enable always trigger guard_removal;
alter table holdfast.job enable always trigger guard_truncate;
alter table holdfast.job enable always trigger record_births;
alter table holdfast.job enable always trigger record_moves;

-- What is written is never changed, and only retention removes it. ALWAYS, as above.
create or replace function holdfast.make_append_only(p_table regclass, p_name text, p_words text) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

select holdfast.make_append_only('holdfast.job_history', 'history', 'history is');
select holdfast.make_append_only('holdfast.attempt', 'attempt', 'attempts are');
select holdfast.make_append_only('holdfast.step', 'step', 'saved steps are');
select holdfast.make_append_only('holdfast.activity', 'activity', 'activity is');
create or replace trigger history_is_written_by_moves before insert on holdfast.job_history
  for each statement when (pg_trigger_depth() = 0)
  execute function holdfast.refuse('history is written by the moves themselves: INSERT is refused');
alter table holdfast.job_history enable always trigger history_is_written_by_moves;

-- A partition's own TRUNCATE and its copies of the row triggers are guarded one by one: the parent's state does not reach them.
create or replace function holdfast.guard_history_partition(p_partition regclass) returns void
language plpgsql set search_path = pg_catalog, holdfast, pg_temp as $$
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

select holdfast.guard_history_partition(inhrelid::regclass)
  from pg_inherits
 where inhparent = 'holdfast.job_history'::regclass;
