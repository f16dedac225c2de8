-- People who come with a password, their sessions, the devices they came from, and how often somebody may try.

create table holdfast.person (
  name         text primary key,
  password     text not null,                            -- argon2id, with its salt and costs
  role         text not null,
  tenant       holdfast.name,                            -- null: bound to none, reaches all
  created_at   timestamptz not null default holdfast.clock(),
  created_by   text not null,
  disabled_at  timestamptz,
  signed_in_at timestamptz,
  -- No colon: key:NAME is how keys are named in the audit. No capitals: two people cannot differ by them alone.
  constraint person_name_is_plain check (name ~ '^[a-z0-9][a-z0-9._@+-]{0,199}$'),
  constraint person_has_known_role check (role in ('viewer', 'approver', 'operator', 'admin')),
  constraint person_password_is_argon2id check (password like '$argon2id$%')
);

create table holdfast.session (
  digest   bytea primary key,                            -- SHA-256 of the cookie, which is kept nowhere
  person   text not null references holdfast.person on delete cascade,
  begun_at timestamptz not null default holdfast.clock(),
  seen_at  timestamptz not null default holdfast.clock(),  -- to the minute
  address  text,
  constraint session_digest_is_sha256 check (octet_length(digest) = 32)
);
create index session_of_person on holdfast.session (person);                                     -- ending all of a person's
create index session_by_age on holdfast.session (begun_at);                                      -- upkeep

-- Devices that a person has come from: strangers who try that person's name do not lock them out.
create table holdfast.device (
  digest  bytea primary key,                             -- SHA-256 of the cookie
  person  text not null references holdfast.person on delete cascade,
  seen_at timestamptz not null default holdfast.clock(),
  constraint device_digest_is_sha256 check (octet_length(digest) = 32)
);
create index device_of_person on holdfast.device (person);                                       -- a person's removal
create index device_by_age on holdfast.device (seen_at);                                         -- upkeep

-- Tries to log in. A bucket is a digest: what people type as their name may be their password.
create table holdfast.login_try (
  bucket   text primary key,
  empty_at timestamptz not null                          -- when all tries that were taken are paid back
);
create index login_try_by_age on holdfast.login_try (empty_at);                                  -- upkeep

create index api_key_by_age on holdfast.api_key (created_at, id);                                -- lists
create index api_key_of_name on holdfast.api_key (name);                                         -- how many count

-- Its answer changes; the functions of this release put it back.
drop function if exists holdfast.find_key(text);
