-- Alerts and their outbox: what is watched, what was found, and who is told of it.

-- Where messages can be sent. Only that a channel exists: its address, its recipients and its secrets stay with the code that delivers.
create table holdfast.alert_channel (
  name          holdfast.name primary key,
  kind          text not null,
  app           text not null,                           -- whose code declares it
  registered_at timestamptz not null,
  constraint alert_channel_kind_is_known check (kind in ('email', 'slack', 'webhook'))
);

create table holdfast.alert_rule (
  name          holdfast.name primary key,
  kind          text not null,
  task          holdfast.name,                           -- null: every task
  queue         holdfast.name,
  tenant        holdfast.name,
  threshold     float8,                                  -- a number of failures, a share, seconds: as the kind says
  period        interval,                                -- the window it looks at, or how long is too long
  least         bigint not null default 1,               -- fewer ends than this say nothing about a rate
  severity      text not null,
  channels      text[] not null,
  enabled       boolean not null default true,           -- false: muted by an operator; deployments do not change that
  app           text not null,                           -- whose code declares it
  registered_at timestamptz not null,
  constraint alert_rule_kind_is_known check (kind in ('failures', 'success_rate', 'oldest_wait', 'no_worker', 'approval_overdue',
    'schedule_missed', 'callback_silent', 'job_failed', 'compensation_failed')),
  constraint alert_severity_is_known check (severity in ('info', 'warning', 'critical')),
  constraint alert_period_is_positive check (period > interval '0')
);

create table holdfast.alert (
  id           uuid primary key default holdfast.new_id(),
  rule         holdfast.name not null,
  about        text not null,                            -- what it is about, within its rule: task:…, queue:…, job:…
  severity     text not null,
  message      text not null,
  job_id       uuid,
  count        bigint not null default 1,                -- how many the rule counted when it looked last
  opened_at    timestamptz not null,
  last_seen_at timestamptz not null,                     -- when its cause was there last
  closed_at    timestamptz,
  constraint alert_about_has_1_to_600_characters check (about <> '' and length(about) <= 600),
  constraint alert_goes_forward check (last_seen_at >= opened_at and closed_at >= opened_at)
) with (fillfactor = 70);
-- De-duplication: whoever finds the same cause at the same time, one of them opens the alert.
create unique index alert_is_open_once on holdfast.alert (rule, about) where closed_at is null;  -- open_alerts, close_alerts
create index alert_by_age on holdfast.alert (closed_at) where closed_at is not null;             -- upkeep

-- The outbox: one row a message and recipient, written with its cause; the job that delivers it is born in the same transaction.
create table holdfast.notification (
  id           uuid primary key,
  kind         text not null,
  channel      holdfast.name not null,
  recipient    text,                                     -- null: the channel's own recipients
  alert_id     uuid,
  approval_id  uuid,
  subject      text,                                     -- of the application's own messages; the others are written when they are sent
  body         text,
  priority     holdfast.priority not null default 0,
  job_id       uuid not null,                            -- the newest job that delivers it
  state        text not null default 'waiting',
  created_at   timestamptz not null,
  delivered_at timestamptz,
  constraint notification_kind_is_known check (kind in ('opened', 'resolved', 'approval', 'message')),
  constraint notification_state_is_known check (state in ('waiting', 'delivered', 'void', 'failed')),
  constraint notification_is_delivered_at_a_time check ((state = 'delivered') = (delivered_at is not null)),
  constraint notification_has_what_it_tells check (
    (kind in ('opened', 'resolved')) = (alert_id is not null) and (kind = 'approval') = (approval_id is not null)
    and (kind = 'message') = (subject is not null and body is not null)),
  -- A line break in a header begins another header.
  constraint notification_subject_is_one_line check (length(subject) between 1 and 200 and subject !~ '[[:cntrl:]]'),
  constraint notification_recipient_is_one_line check (length(recipient) between 1 and 320 and recipient !~ '[[:cntrl:]]'),
  constraint notification_body_has_at_most_64_kib check (octet_length(body) <= 65536)
) with (fillfactor = 70);
create index notification_open on holdfast.notification (created_at) where state in ('waiting', 'failed');  -- doctor
create index notification_by_job on holdfast.notification (job_id) where state = 'waiting';      -- give_up_notifications
create index notification_of_alert on holdfast.notification (alert_id) where alert_id is not null;          -- show, upkeep
create index notification_of_approval on holdfast.notification (approval_id) where approval_id is not null; -- lists
create index notification_by_age on holdfast.notification (created_at);                          -- upkeep, lists

-- Rules are judged by one process at a time, now and then: whoever locks this row.
create table holdfast.alert_watch (
  only_one boolean primary key default true check (only_one),
  ran_at   timestamptz
) with (fillfactor = 10);
insert into holdfast.alert_watch default values;
