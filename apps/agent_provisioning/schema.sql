-- Agents, and who pays for them. How far their machines are is said by their jobs' rows: nothing is stored twice.
-- The schema itself is made by the database's owner.

create table if not exists agent_provisioning.customer (
  user_id         text primary key,
  stripe_customer text not null unique
);

create table if not exists agent_provisioning.agent (
  id               uuid primary key,
  user_id          text not null references agent_provisioning.customer,
  name             text not null,
  region           text not null,
  checkout_session text not null unique,
  created_at       timestamptz not null default now()
);

create table if not exists agent_provisioning.subscription (
  id         text primary key,                     -- Stripe's
  agent_id   uuid not null references agent_provisioning.agent,
  event_id   text not null,
  created_at timestamptz not null default now(),
  constraint an_event_counts_once unique (event_id)
);
