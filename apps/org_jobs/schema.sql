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

-- One row a run. It is read from the history, which is written in the transaction that ends the run: none can be missing.
create or replace view org_jobs.usage_record as
select ended.job_id, j.tenant::text as org_id, j.task::text as type, ended.to_status::text as outcome, ended.attempt as attempts,
       ended.at as ended_at, extract(epoch from ended.at - began.at) as seconds
  from holdfast.job_history ended
  join holdfast.job_history began on began.job_id = ended.job_id and began.seq = ended.seq - 1
  join holdfast.job j on j.id = ended.job_id
 where ended.from_status = 'RUNNING';
