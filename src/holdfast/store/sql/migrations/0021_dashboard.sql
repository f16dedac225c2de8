-- What attempts log while they run. It moves to holdfast.attempt with their end; of an attempt whose worker died it stays here.

create table holdfast.log_part (
  job_id  uuid not null,
  attempt int not null,
  first   int not null,                                  -- how many lines of the attempt come before
  at      timestamptz not null default holdfast.clock(),
  worker  text not null,
  lines   jsonb not null,
  primary key (job_id, attempt, first)
);
create index log_part_newest on holdfast.log_part (at);                                     -- pulse

-- Steps that their code calls small.
alter table holdfast.step
  add column importance text;
alter table holdfast.step
  add constraint step_importance_is_known check (importance = 'low') not valid;
alter table holdfast.step validate constraint step_importance_is_known;

-- What the jobs of each tenant take in the tables, as upkeep last measured it.
create table holdfast.storage (
  tenant        text,                                    -- null: of nobody in particular
  jobs          bigint not null,
  job_bytes     bigint not null,
  payload_bytes bigint not null,
  result_bytes  bigint not null,
  history_bytes bigint not null,                         -- moves, attempts with errors and log lines, steps, activity
  share         real not null,                           -- of all jobs, how much was looked at; 1: no estimate
  measured_at   timestamptz not null,
  constraint storage_is_per_tenant unique nulls not distinct (tenant)
);
