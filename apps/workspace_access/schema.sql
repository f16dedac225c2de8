-- The product's own tables. It may run twice. Time is the engine's clock, which tests can move.

create table if not exists workspace_access.users (
  id     uuid primary key,
  name   text not null,
  email  text not null,
  phone  text,
  locale text
);

create table if not exists workspace_access.advisors (
  id     uuid primary key,
  name   text not null,
  email  text not null,
  phone  text,
  avatar text,
  skills text[] not null default '{}',
  rating numeric(2, 1)
);

-- Of an advisor, what everybody in a project may know.
create or replace view workspace_access.advisor_cards as
select a.id, a.name, a.avatar, a.skills, a.rating
  from workspace_access.advisors a;

create table if not exists workspace_access.projects (
  id         uuid primary key,
  owner_id   uuid not null references workspace_access.users (id),
  timeline   bigint not null default 0,   -- number of the chat's last message
  last_event bigint not null default 0    -- number of the last live event; whoever takes one holds this row until it commits
);

-- The advisor is no foreign key: that an advisor was deleted is found out when the workspace is opened, and tried no further.
create table if not exists workspace_access.matches (
  id                  uuid primary key default gen_random_uuid(),
  project_id          uuid not null references workspace_access.projects (id) on delete cascade,
  advisor_id          uuid not null,
  score               numeric(5, 2) not null,
  status              text not null default 'pending',
  previous_status     text,
  client_approved_at  timestamptz,
  advisor_accepted_at timestamptz,
  decline_reason      text,
  job_id              uuid,   -- the newest job that was to open the workspace
  created_at          timestamptz not null default holdfast.clock(),
  expires_at          timestamptz not null default holdfast.clock() + interval '14 days',
  constraint match_status_is_known check (
    status in ('pending', 'matched', 'client_approved', 'advisor_accepted', 'finalized', 'declined', 'left'))
);
create index if not exists matches_by_project on workspace_access.matches (project_id, created_at desc);   -- the active match

create or replace function workspace_access.capture_previous_status() returns trigger
language plpgsql as $$
begin
  new.previous_status := old.status;
  return new;
end $$;

-- Every change of status, whoever makes it. A rollback is one too, so what it came back from is not what it goes back to.
create or replace trigger previous_status_is_captured
before update of status on workspace_access.matches
for each row when (old.status is distinct from new.status)
execute function workspace_access.capture_previous_status();

create table if not exists workspace_access.project_advisors (
  project_id uuid not null references workspace_access.projects (id) on delete cascade,
  advisor_id uuid not null references workspace_access.advisors (id),
  status     text not null,
  added_by   uuid not null references workspace_access.users (id),
  created_at timestamptz not null default holdfast.clock(),
  updated_at timestamptz not null default holdfast.clock(),
  primary key (project_id, advisor_id),
  constraint assignment_status_is_known check (status in ('invited', 'active', 'removed'))
);

create table if not exists workspace_access.chat_sessions (
  id         uuid primary key default gen_random_uuid(),
  project_id uuid not null references workspace_access.projects (id) on delete cascade,
  user_id    uuid,
  actor_type text not null,
  state      text not null default 'active',
  locale     text not null,
  constraint one_session_a_person unique (project_id, user_id),
  constraint session_actor_is_known check (actor_type in ('user', 'advisor')),
  constraint session_state_is_known check (state in ('active', 'closed')),
  constraint session_locale_is_known check (locale in ('en', 'ar', 'fr', 'es', 'de'))
);

create table if not exists workspace_access.chat_messages (
  project_id    uuid not null references workspace_access.projects (id) on delete cascade,
  sequence      bigint not null,
  user_id       uuid,
  actor_type    text,
  mode          text not null,
  content       text not null,
  response_data jsonb not null default '{}',
  created_at    timestamptz not null default holdfast.clock(),
  primary key (project_id, sequence),
  -- Safe from NULL: a comparison that is unknown would let anything pass.
  constraint nobody_writes_only_system_messages check (
    (user_id is null) is not distinct from (actor_type = 'system'))
);

create table if not exists workspace_access.interventions (
  job_id     uuid primary key,   -- the job that failed: a rollback that is repeated finds its own row, and does nothing
  match_id   uuid not null references workspace_access.matches (id) on delete cascade,
  kind       text not null,
  reason     text not null,
  score      numeric(5, 2) not null,
  attempts   int not null,
  created_at timestamptz not null default holdfast.clock()
);

create table if not exists workspace_access.grants (
  match_id   uuid not null references workspace_access.matches (id) on delete cascade,
  granted_by text not null,
  reason     text not null,
  outcome    text not null,
  granted_at timestamptz not null default holdfast.clock()
);

create table if not exists workspace_access.idempotency_keys (
  user_id    uuid not null,
  key        text not null,
  request    bytea not null,
  answer     jsonb,
  created_at timestamptz not null default holdfast.clock(),
  primary key (user_id, key)
);

-- Access is both: the assignment and an open chat.
create or replace view workspace_access.access as
select a.project_id, a.advisor_id
  from workspace_access.project_advisors a
  join workspace_access.chat_sessions s on s.project_id = a.project_id and s.user_id = a.advisor_id
 where a.status = 'active' and s.state = 'active';

create or replace view workspace_access.lacking_access as
select m.id as match_id, m.project_id, m.advisor_id, m.job_id
  from workspace_access.matches m
 where m.status = 'finalized'
   and not exists (select from workspace_access.access a where a.project_id = m.project_id and a.advisor_id = m.advisor_id);

-- The same bucket in SQL and in Python (holdfast.rollout_bucket), for ever.
create or replace function workspace_access.project_bucket(p_id uuid) returns int
language sql immutable parallel safe as $$
  select holdfast.rollout_bucket(p_id::text)
$$;

-- Row level security, for people who come as the role workspace_access_user and say who they are; the product itself owns the tables.
create or replace function workspace_access.me() returns uuid
language sql stable
return nullif(current_setting('workspace_access.user_id', true), '')::uuid;

alter table workspace_access.users enable row level security;
alter table workspace_access.advisors enable row level security;
alter table workspace_access.projects enable row level security;
alter table workspace_access.matches enable row level security;
alter table workspace_access.project_advisors enable row level security;
alter table workspace_access.chat_sessions enable row level security;
alter table workspace_access.chat_messages enable row level security;
alter table workspace_access.interventions enable row level security;
alter table workspace_access.grants enable row level security;
alter table workspace_access.idempotency_keys enable row level security;

drop policy if exists advisors_see_their_assignments on workspace_access.project_advisors;
create policy advisors_see_their_assignments on workspace_access.project_advisors
  for select using (advisor_id = workspace_access.me());

drop policy if exists people_see_their_sessions on workspace_access.chat_sessions;
create policy people_see_their_sessions on workspace_access.chat_sessions
  for select using (user_id = workspace_access.me());   -- NULL is nobody's

-- By the session and not by who wrote it: a system message has no user.
drop policy if exists people_see_the_chats_they_are_in on workspace_access.chat_messages;
create policy people_see_the_chats_they_are_in on workspace_access.chat_messages
  for select using (exists (
    select from workspace_access.chat_sessions s
     where s.project_id = chat_messages.project_id and s.user_id = workspace_access.me() and s.state = 'active'));

do $$
begin
  if to_regrole('workspace_access_user') is not null then
    grant select on workspace_access.project_advisors, workspace_access.chat_sessions, workspace_access.chat_messages to workspace_access_user;
  end if;
end $$;
