-- Since when a schedule's times can be counted, and how often a guard had to refuse what no function asks for: both for the auditor.

-- What it fires by has not changed since, and it was not paused or withdrawn in between: every time from here to settled_to has its run.
-- Of schedules that are there already nothing is known of before.
alter table holdfast.schedule
  add column counted_from timestamptz not null default now();

-- A sequence, because a refusal takes back whatever its transaction wrote, but no number that was given.
create sequence holdfast.refusal;
