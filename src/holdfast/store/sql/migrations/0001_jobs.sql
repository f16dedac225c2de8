-- Tables, types and indexes of the engine. The machine itself is in functions/.

create type holdfast.job_status as enum (
  'PENDING', 'RUNNING', 'RETRY', 'WAITING_FOR_APPROVAL', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED');

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
  name               text primary key,
  queue              text not null default 'default',
  priority           smallint not null default 0,
  max_retries        smallint not null default 3,
  crash_cap          smallint not null default 3,
  timeout            interval,
  retention          interval,
  unique_by          jsonb,                              -- null: no key; []: the whole payload; ["a"]: these fields
  key_scope          text not null default 'active',
  manual_retries     smallint not null default 3,
  manual_retries_per text not null default 'job',
  registered_at      timestamptz not null default holdfast.clock(),
  constraint task_has_a_name check (name <> '' and length(name) <= 200),
  constraint task_priority_is_within_100 check (priority between -100 and 100),
  constraint task_retries_are_within_100 check (max_retries between 0 and 100),
  constraint task_crash_cap_is_positive check (crash_cap between 1 and 100),
  constraint task_timeout_is_positive check (timeout > interval '0'),
  constraint task_retention_is_positive check (retention > interval '0'),
  constraint task_unique_by_is_a_list check (jsonb_typeof(unique_by) = 'array'),
  constraint task_key_scope_is_known check (key_scope in ('active', 'success', 'ever')),
  constraint task_manual_retries_are_within_100 check (manual_retries between 0 and 100),
  constraint task_manual_retries_are_counted_per_job_or_subject check (manual_retries_per in ('job', 'subject'))
);

create table holdfast.queue (
  name      text primary key,
  paused_at timestamptz,
  paused_by text,
  reason    text,
  resume_at timestamptz,
  constraint queue_has_a_name check (name <> '' and length(name) <= 200),
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
  id           uuid not null default holdfast.new_id(),
  created_at   timestamptz not null default holdfast.clock(),
  updated_at   timestamptz not null default holdfast.clock(),
  claim_order  timestamptz,                              -- place in the line; null while nobody may take it
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
  priority     smallint not null default 0,
  retry_count  smallint not null default 0,
  max_retries  smallint not null default 3,
  crash_count  smallint not null default 0,
  suspect      boolean not null default false,           -- a worker died with it: the next attempt runs alone
  key_held     boolean not null default false,
  task         text not null,
  queue        text not null default 'default',
  tenant       text,
  subject      text,
  key          text,
  key_scope    text,
  held_by      text,                                     -- why it is not in the line, when no time will put it there
  reason       text,                                     -- of its newest move
  label        text,
  requested_by text,
  trace_parent text,
  timeout      interval,
  tags         jsonb,
  metadata     jsonb,
  payload      jsonb not null default '{}',
  result       jsonb,
  error        jsonb,
  constraint job_pkey primary key (id),
  constraint id_is_a_uuid_version_7 check (get_byte(uuid_send(id), 6) between 112 and 127),
  constraint priority_is_within_100 check (priority between -100 and 100),
  constraint retries_stay_within_their_maximum check (retry_count >= 0 and retry_count <= max_retries),
  constraint max_retries_is_within_100 check (max_retries between 0 and 100),
  constraint payload_is_an_object check (jsonb_typeof(payload) = 'object'),
  constraint payload_and_result_are_small check (pg_column_size(payload) <= 2097152 and pg_column_size(result) <= 2097152),
  constraint tags_are_a_list check (jsonb_typeof(tags) = 'array'),
  constraint metadata_is_an_object check (jsonb_typeof(metadata) = 'object'),
  constraint names_are_not_empty check (task <> '' and queue <> '' and tenant <> '' and subject <> '' and key <> ''),
  constraint texts_are_short check (length(queue) <= 200 and length(tenant) <= 200 and length(subject) <= 500 and length(key) <= 500 and length(label) <= 500),
  constraint key_has_a_scope check ((key is null) = (key_scope is null) and (key is not null or not key_held)),
  constraint key_scope_is_known check (key_scope in ('active', 'success', 'ever')),
  constraint running_has_a_holder check ((status = 'RUNNING') = (holder is not null)),
  constraint running_has_a_claim check (status <> 'RUNNING' or claim_id is not null),
  constraint deadline_only_while_running check (deadline_at is null or status = 'RUNNING'),
  constraint running_is_not_in_line check (status <> 'RUNNING' or (claim_order is null and due_at is null and held_by is null)),
  constraint terminal_is_finished check ((status in ('COMPLETED', 'FAILED', 'CANCELLED')) = (finished_at is not null)),
  constraint terminal_is_not_in_line check (finished_at is null or (claim_order is null and due_at is null and held_by is null)),
  constraint retry_has_a_time check (status <> 'RETRY' or due_at is not null),
  constraint waiting_for_approval_has_an_approval check ((status = 'WAITING_FOR_APPROVAL') = (approval_id is not null)),
  constraint failed_has_an_error check (status <> 'FAILED' or error is not null),
  constraint result_only_when_completed check (result is null or status = 'COMPLETED')
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
