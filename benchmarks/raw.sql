-- The raw-SQL limit's tables: the columns of holdfast.job and holdfast.job_history, with only the indexes the raw
-- statements need, and no guard, constraint, trigger or partition.
create schema raw;

create type raw.job_status as enum (
  'PENDING', 'RUNNING', 'RETRY', 'WAITING_FOR_APPROVAL', 'WAITING', 'COMPLETED', 'FAILED', 'CANCELLED');

create table raw.job (
  id           uuid primary key default uuidv7(),
  created_at   timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp(),
  claim_order  timestamptz,
  due_at       timestamptz,
  deadline_at  timestamptz,
  finished_at  timestamptz,
  claim_id     uuid,
  holder       uuid,
  approval_id  uuid,
  retry_of     uuid,
  status       raw.job_status not null default 'PENDING',
  attempt      int not null default 0,
  seq          int not null default 1,
  priority     smallint not null default 0,
  retry_count  smallint not null default 0,
  max_retries  smallint not null default 3,
  crash_count  smallint not null default 0,
  suspect      boolean not null default false,
  key_held     boolean not null default false,
  task         text not null,
  queue        text not null default 'default',
  tenant       text,
  subject      text,
  key          text,
  key_scope    text,
  held_by      text,
  reason       text,
  label        text,
  requested_by text,
  trace_parent text,
  timeout      interval,
  tags         jsonb,
  metadata     jsonb,
  payload      jsonb not null default '{}',
  result       jsonb,
  error        jsonb
) with (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_insert_scale_factor = 0.2,
        autovacuum_analyze_scale_factor = 0.1, autovacuum_vacuum_cost_delay = 0);

create index job_in_line on raw.job (queue, claim_order, id) where claim_order is not null;

create table raw.job_history (
  job_id      uuid not null,
  seq         int not null,
  from_status raw.job_status,
  to_status   raw.job_status not null,
  attempt     int not null,
  at          timestamptz not null default clock_timestamp(),
  xid         bigint not null default (pg_current_xact_id()::text::bigint),
  actor       text not null default current_user,
  reason      text,
  metadata    jsonb,
  primary key (job_id, seq)
);
