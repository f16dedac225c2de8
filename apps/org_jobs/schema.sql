-- What belongs to the product. Its jobs are rows of holdfast.job: there is no second queue.

create table if not exists org_jobs.organisation (
  id            text primary key,
  token_digest  bytea not null unique,
  contact_limit int not null,
  constraint organisation_id_is_plain check (id ~ '^[a-z0-9-]{1,60}$')
);

create table if not exists org_jobs.contact (
  org_id   text not null references org_jobs.organisation (id) on delete cascade,
  email    text not null,
  name     text,
  added_at timestamptz not null default holdfast.clock(),
  primary key (org_id, email)
);
