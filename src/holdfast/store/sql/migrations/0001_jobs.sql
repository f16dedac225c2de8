-- Tables, types and indexes of the engine. The machine itself is in functions/.

create type holdfast.job_status as enum (
  'PENDING', 'RUNNING', 'RETRY', 'WAITING_FOR_APPROVAL', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED');

-- Rules about one value are domains: PostgreSQL prepares a table's check constraints anew for every statement, which costs a
-- single-row insert three microseconds a constraint; a domain's are prepared once a session, and not at all for a column
-- that an update leaves alone.
create domain holdfast.job_id as uuid
  constraint id_is_a_uuid_version_7 check (get_byte(uuid_send(value), 6) between 112 and 127);
create domain holdfast.name as text
  constraint name_has_1_to_200_characters check (value <> '' and length(value) <= 200);
create domain holdfast.long_name as text
  constraint long_name_has_1_to_500_characters check (value <> '' and length(value) <= 500);
create domain holdfast.priority as smallint
  constraint priority_is_within_100 check (value between -100 and 100);
create domain holdfast.small_count as smallint
  constraint count_is_within_100 check (value between 0 and 100);
create domain holdfast.key_scope as text
  constraint key_scope_is_known check (value in ('active', 'success', 'ever'));
create domain holdfast.json_object as jsonb
  constraint it_is_an_object check (jsonb_typeof(value) = 'object')
  constraint it_is_small check (pg_column_size(value) <= 2097152);
create domain holdfast.json_value as jsonb
  constraint it_is_small check (pg_column_size(value) <= 2097152);
create domain holdfast.tags as jsonb
  constraint tags_are_a_list check (jsonb_typeof(value) = 'array');

-- The only clock. Tests replace it in a database of their own; nothing else may.
create function holdfast.clock() returns timestamptz
language sql volatile parallel safe
return clock_timestamp();

-- A UUIDv7 with the sub-millisecond part in rand_a, so that ids made in one transaction keep their order.
create function holdfast.new_id() returns uuid
language plpgsql volatile parallel safe set search_path = pg_catalog, holdfast, pg_temp as $$
declare
  v_micros bigint := (date_part('epoch', holdfast.clock()) * 1000000)::bigint;
begin
  return encode(
    substring(int8send(v_micros / 1000) from 3)
    || int2send((28672 + v_micros % 1000 * 4096 / 1000)::int2)   -- 0x7000: version 7
    || substring(uuid_send(gen_random_uuid()) from 9),           -- the variant bits as gen_random_uuid sets them
    'hex')::uuid;
end $$;

-- The smallest UUIDv7 of a moment: months of jobs are ranges of ids.
create function holdfast.uuid_at(p_at timestamptz) returns uuid
language sql immutable parallel safe
return (lpad(to_hex(floor(extract(epoch from p_at) * 1000)::bigint), 12, '0') || '00000000000000000000')::uuid;

create table holdfast.task (
  name               holdfast.name primary key,
  queue              holdfast.name not null default 'default',
  priority           holdfast.priority not null default 0,
  max_retries        holdfast.small_count not null default 3,
  crash_cap          holdfast.small_count not null default 3,
  timeout            interval,
  retention          interval,
  unique_by          holdfast.tags,                      -- null: no key; []: the whole payload; ["a"]: these fields
  key_scope          holdfast.key_scope not null default 'active',
  manual_retries     holdfast.small_count not null default 3,
  manual_retries_per text not null default 'job',
  registered_at      timestamptz not null default holdfast.clock(),
  constraint task_crash_cap_is_positive check (crash_cap > 0),
  constraint task_timeout_is_positive check (timeout > interval '0' and timeout <= interval '1 year'),
  constraint task_retention_is_positive check (retention > interval '0' and retention <= interval '100 years'),
  constraint task_manual_retries_are_counted_per_job_or_subject check (manual_retries_per in ('job', 'subject'))
);

create table holdfast.queue (
  name      holdfast.name primary key,
  paused_at timestamptz,
  paused_by text,
  reason    text,
  resume_at timestamptz,
  constraint resume_needs_a_pause check (resume_at is null or paused_at is not null)
);

-- One row a process start. A dead worker never comes back: it registers anew.
create table holdfast.worker (
  id         uuid primary key,
  name       text not null,
  host       text not null,
  pid        int not null,
  version    text not null,
  queues     jsonb not null,                             -- {"default": slots, …}
  tasks      text[] not null,
  lease      interval not null,
  started_at timestamptz not null default holdfast.clock(),
  seen_at    timestamptz not null default holdfast.clock(),
  clock_skew interval not null default interval '0',     -- its clock minus ours, for doctor; nothing is decided by it
  stopped_at timestamptz,                                -- it said goodbye
  died_at    timestamptz,                                -- a sweeper found it silent
  constraint lease_is_at_least_a_second check (lease >= interval '1 second')
) with (fillfactor = 50);

-- Who sleeps on which queue: enqueue wakes only those, because a NOTIFY in every commit serialises all of them.
create table holdfast.sleeper (
  queue     text not null,
  worker_id uuid not null references holdfast.worker (id) on delete cascade,
  primary key (queue, worker_id)
);

create table holdfast.job (
  id           holdfast.job_id not null default holdfast.new_id(),
  created_at   timestamptz not null default holdfast.clock(),
  updated_at   timestamptz not null default holdfast.clock(),
  claim_order  timestamptz default holdfast.clock(),     -- place in the line; null while nobody may take it
  due_at       timestamptz,                              -- when it enters the line by itself (delayed, retry, durable sleep)
  deadline_at  timestamptz,                              -- of the attempt that runs now
  finished_at  timestamptz,
  claim_id     uuid,                                     -- the fence; stays on the terminal row
  holder       uuid,                                     -- worker or executor; set exactly while RUNNING
  approval_id  uuid,                                     -- what it waits for while WAITING_FOR_APPROVAL
  retry_of     uuid,                                     -- the FAILED job that a person retried
  status       holdfast.job_status not null default 'PENDING',
  came_from    holdfast.job_status,                      -- the status before, exactly when its newest update was a move
  attempt      int not null default 0,                   -- how often it was claimed
  seq          int not null default 1,                   -- of its newest history row
  priority     holdfast.priority not null default 0,
  retry_count  smallint not null default 0,
  max_retries  holdfast.small_count not null default 3,
  crash_count  smallint not null default 0,
  suspect      boolean not null default false,           -- a worker died with it: the next attempt runs alone
  key_held     boolean not null default false,
  task         holdfast.name not null,
  queue        holdfast.name not null default 'default',
  tenant       holdfast.name,
  subject      holdfast.long_name,
  key          holdfast.long_name,
  key_scope    holdfast.key_scope,
  held_by      text,                                     -- why it is not in the line, when no time will put it there
  reason       text,                                     -- of its newest move
  label        holdfast.long_name,
  requested_by text,
  trace_parent text,
  timeout      interval,
  tags         holdfast.tags,
  metadata     holdfast.json_object,
  payload      holdfast.json_object not null default '{}',
  result       holdfast.json_value,
  error        jsonb,
  constraint job_pkey primary key (id)   -- rules between columns: holdfast.broken_rule
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2,
        autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);

create index job_in_line on holdfast.job (queue, claim_order, id)
  where claim_order is not null and not suspect;                                            -- claim
create index job_suspect on holdfast.job (queue, claim_order, id)
  where claim_order is not null and suspect;                                                -- claim_suspect
create index job_due on holdfast.job (due_at)
  where due_at is not null and claim_order is null;                                         -- admit_due
create index job_held on holdfast.job (holder) where holder is not null;                    -- sweep, lists of RUNNING
create unique index job_key on holdfast.job (coalesce(tenant, ''), task, key) where key_held; -- enqueue
create unique index job_retried_once on holdfast.job (retry_of) where retry_of is not null; -- retry, its chain
-- RUNNING rows are few and found by their holder: leaving them out saves a third of this index's writes.
create index job_by_status on holdfast.job (status, id desc) where status <> 'RUNNING';     -- lists
create index job_by_task on holdfast.job (task, id desc) where status <> 'RUNNING';         -- lists, retention
create index job_by_tenant on holdfast.job (tenant, id desc) where tenant is not null;      -- lists
create index job_by_subject on holdfast.job (subject, id desc) where subject is not null;   -- lists, retry cap
create index job_by_tag on holdfast.job using gin (tags jsonb_path_ops) where tags is not null; -- lists

-- What an attempt left behind: its error, its captured log lines. An attempt with neither has no row.
create table holdfast.attempt (
  job_id  uuid not null,
  attempt int not null,
  worker  text not null,
  outcome text not null,
  error   jsonb,
  logs    jsonb,
  at      timestamptz not null default holdfast.clock(),
  primary key (job_id, attempt)
);

create table holdfast.job_history (
  job_id      uuid not null,
  seq         int not null,
  from_status holdfast.job_status,
  to_status   holdfast.job_status not null,
  attempt     int not null,
  at          timestamptz not null,
  xid         bigint not null,
  actor       text not null,
  reason      text,
  metadata    jsonb,
  primary key (job_id, seq)
) partition by range (job_id);

-- Catches jobs whose ids were made by a clock that is off by months.
create table holdfast.job_history_rest partition of holdfast.job_history default;

-- Upkeep runs in one process at a time: whoever locks this row.
create table holdfast.upkeep (
  only_one boolean primary key default true check (only_one),
  ran_at   timestamptz
);
insert into holdfast.upkeep default values;
