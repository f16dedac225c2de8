-- Schedules, what became of their times, and which worker's code declares which.

create domain holdfast.missed_policy as text
  constraint missed_policy_is_known check (value in ('skip', 'one', 'all'));
create domain holdfast.overlap_policy as text
  constraint overlap_policy_is_known check (value in ('allow', 'skip', 'replace'));

alter table holdfast.worker
  add column schedules text[];                           -- those that its code declares; null: it has not said

create table holdfast.schedule (
  name         holdfast.name primary key,
  version      int not null default 1,                   -- of its timing: a process that read another one cannot fire it
  task         holdfast.name not null,
  payload      holdfast.json_object not null default '{}',
  options      holdfast.json_object not null default '{}',   -- further members of the job's document: queue, tenant, …
  cron         text,
  every        interval,
  tz           text not null default 'UTC',
  anchor       timestamptz not null,                     -- where an interval counts from
  missed       holdfast.missed_policy not null default 'one',
  overlap      holdfast.overlap_policy not null default 'allow',
  declared     boolean not null,                         -- in code, or made at run time
  settled_to   timestamptz not null,                     -- whatever became of every time up to here is decided
  next_at      timestamptz,                              -- null: a worker has yet to compute it; infinity: never again
  paused_at    timestamptz,
  paused_by    text,
  reason       text,
  withdrawn_at timestamptz,                              -- workers that have its task no longer declare it
  created_at   timestamptz not null,
  updated_at   timestamptz not null,
  constraint schedule_has_a_cron_line_or_an_interval check ((cron is null) <> (every is null)),
  constraint schedule_interval_is_positive check (every > interval '0'),
  constraint schedule_goes_forward check (next_at > settled_to)
) with (fillfactor = 70);
create index schedule_in_order on holdfast.schedule (next_at nulls first)
  where paused_at is null and withdrawn_at is null;                                              -- due_schedules

-- What became of a schedule's times. Append-only, and kept when the schedule is deleted. Its key decides among any number of
-- processes which of them fires: one row a time, for ever.
create table holdfast.schedule_run (
  schedule  holdfast.name not null,
  slot      timestamptz not null,
  last_slot timestamptz not null,                        -- the same, or the last of several that were missed together
  times     int not null default 1,
  outcome   text not null,
  at        timestamptz not null,
  job_id    uuid,                                        -- the job it became, or the one that stood in its way
  actor     text not null,
  detail    text,
  primary key (schedule, slot),                                                                  -- fire_schedule
  constraint schedule_run_outcome_is_known check (outcome in ('fired', 'manual', 'overlap', 'missed', 'duplicate', 'refused')),
  constraint schedule_run_names_its_job check (outcome not in ('fired', 'manual', 'overlap', 'duplicate') or job_id is not null),
  constraint schedule_run_counts_its_times check (times >= 1 and last_slot >= slot)
);
create index schedule_run_by_job on holdfast.schedule_run (schedule, slot desc)
  where outcome in ('fired', 'manual');                                                          -- open_jobs
create index schedule_run_by_age on holdfast.schedule_run (at);                                  -- forget_schedule_runs
