-- Limits, rates, flags and pauses of tasks: what keeps a job out of the line, and what it must hold to be in it.

-- A job under a limit has a row a key from its birth to its end. n is the slot it holds, null while it holds none:
-- two jobs with one slot are a unique violation, whoever counted wrong.
create table holdfast.slot (
  job_id uuid not null,
  key    text collate "C" not null,
  n      int,
  primary key (job_id, key),                             -- release_slots
  constraint slot_has_one_holder unique (key, n),        -- free_slot, join_limits
  constraint slots_are_counted_from_1 check (n > 0)
);

-- A start under a rate: granted when its job enters the line, used by the claim, free again a period later.
create table holdfast.rate_slot (
  key     text collate "C" not null,
  n       int not null,
  job_id  uuid not null,
  used_at timestamptz,                                   -- null until it is claimed
  period  interval not null,
  primary key (key, n),
  constraint rate_slots_are_counted_from_1 check (n > 0)
);
create index rate_slot_by_use on holdfast.rate_slot (key, used_at);                              -- free_rate_slot
create index rate_slot_granted on holdfast.rate_slot (job_id) where used_at is null;             -- release_slots

-- One row a rate that jobs wait for, and not a time a job: however many wait, one look a freed place.
create table holdfast.rate_wait (
  key     text collate "C" primary key,
  next_at timestamptz not null
);
create index rate_wait_by_time on holdfast.rate_wait (next_at);                                  -- admit_due

create table holdfast.flag (
  name    holdfast.name primary key,
  enabled boolean not null,
  percent smallint not null default 100,
  set_by  text not null,
  reason  text,
  at      timestamptz not null default holdfast.clock(),
  constraint flag_percent_is_a_share check (percent between 0 and 100)
);

alter table holdfast.task
  add column paused_at timestamptz,
  add column paused_by text,
  add column pause_reason text,
  add column resume_at timestamptz,
  add constraint resume_needs_a_pause check (resume_at is null or paused_at is not null);
create index task_paused on holdfast.task (name) where paused_at is not null;                    -- claim

alter table holdfast.queue
  add column job_limit int,
  add constraint queue_limit_is_positive check (job_limit > 0);

-- How far the sweeper has come with looking after parked jobs: each sweep goes on where the last one stopped.
create table holdfast.heal (
  only_one boolean primary key default true check (only_one),
  reached  text not null default ''
);
insert into holdfast.heal default values;

-- The place that a parked job had, for an index: seconds taken from a moment are the same in every time zone.
create function holdfast.parked_place(p_due timestamptz, p_created timestamptz, p_priority int) returns timestamptz
language sql immutable parallel safe
return coalesce(p_due, p_created) - p_priority * interval '36 seconds';

-- What is held back is not due, whatever its time: it would be looked at again and again.
drop index holdfast.job_due;
create index job_due on holdfast.job (due_at)
  where due_at is not null and claim_order is null and held_by is null;                          -- admit_due
create index job_parked on holdfast.job (held_by collate "C", holdfast.parked_place(due_at, created_at, priority), id)
  where held_by is not null;                                                                     -- admit_waiters

-- It answers more than it did.
drop function if exists holdfast.wanted(jsonb, timestamptz);
