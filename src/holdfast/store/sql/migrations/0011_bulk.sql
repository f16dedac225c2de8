-- Operations on many jobs at once: what was meant, when it was asked for, and how far the job has come that carries it out.

create table holdfast.operation (
  id         uuid primary key,                           -- of the job that carries it out
  created_at timestamptz not null default holdfast.clock(),
  tenant     holdfast.name,                              -- null: asked for by somebody who reaches all
  action     text not null,
  search     text not null,                              -- as it was written
  actor      text not null,
  reason     text,
  total      int not null,
  constraint operation_action_is_known check (action in ('retry', 'cancel')),
  constraint operation_reason_has_500_characters_at_most check (length(reason) <= 500)
);
create index operation_of_tenant on holdfast.operation (tenant, id desc) where tenant is not null; -- lists

-- Jobs that are dealt with in one transaction, chosen when the operation was made: what comes later is not touched.
create table holdfast.operation_chunk (
  operation_id uuid not null references holdfast.operation (id) on delete cascade,
  nth          int not null,
  jobs         uuid[] not null,
  finished_at  timestamptz,
  done         int not null default 0,
  skipped      int not null default 0,
  refusals     jsonb not null default '[]',              -- [{"job", "why"}], of those that were skipped
  primary key (operation_id, nth),
  constraint chunk_has_1_to_500_jobs check (cardinality(jobs) between 1 and 500)
);
